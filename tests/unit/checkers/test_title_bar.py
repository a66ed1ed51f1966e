"""Did the window that the action leads to, come to the front?"""

import pytest
from window_kit import subject, tabs, window, window_over

from otel_validation.checkers.title_bar import TitleBarChecker
from otel_validation.validation.verdict import FailureCategory, Verdict

COMPLETE, CONTINUE, TERMINATE = Verdict.COMPLETE, Verdict.CONTINUE, Verdict.TERMINATE
OPENS = {"expected_window_title": "Compte rendu - Word", "expected_application": "Word"}

THERE = (COMPLETE, None, True, True)
OTHER_DOCUMENT = (COMPLETE, None, True, False)
WRONG = (TERMINATE, FailureCategory.WRONG_APPLICATION, True, True)
ABSTAINS = (CONTINUE, None, False, False)


@pytest.fixture(scope="module")
def checker():
    checker = TitleBarChecker()
    checker.warm_up()
    return checker


def concluded(finding):
    return finding.verdict, finding.category, finding.verified, finding.proof


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"title": "Compte rendu - Word", "process": "winword.exe"}, THERE),
        ({"title": "* Compte rendu - Microsoft Word", "process": "winword.exe"}, THERE),
        ({"title": "Ordonnance - Word", "process": "winword.exe"}, OTHER_DOCUMENT),
        ({"title": "Word of mouth - Google Chrome", "process": "chrome.exe"}, WRONG),
        ({"title": "Explorateur", "process": "explorer.exe"}, WRONG),
        ({"process": "winword.exe"}, ABSTAINS),
        ({"dpi_scale": 1.5}, ABSTAINS),
        (
            {"title": "Compte rendu - Word (Not Responding)", "process": "winword.exe"},
            (CONTINUE, FailureCategory.UI_LOADING, True, True),
        ),
    ],
)
def test_by_facts(checker, facts, found):
    made = subject("double_click", facts=facts, **OPENS)
    assert checker.applies(made)
    assert concluded(checker.check(made)) == found


@pytest.mark.parametrize(
    ("screen", "found"),
    [
        (window("Compte rendu - Word"), THERE),
        (window("Ordonnance - Word"), OTHER_DOCUMENT),
        (window("Courrier - Outlook"), WRONG),
        (tabs("Compte rendu - Word", "Actualites"), ABSTAINS),
        (window(""), ABSTAINS),
        (window_over(window("Courrier - Outlook"), "Compte rendu - Word"), ABSTAINS),
        (window_over(window("Compte rendu - Word"), "Courrier - Outlook"), ABSTAINS),
    ],
    ids=[
        "there",
        "another document",
        "another application",
        "among tabs",
        "nothing to read",
        "behind a smaller window",
        "there, behind another one",
    ],
)
def test_by_the_title_bar_where_there_are_no_facts(checker, screen, found):
    finding = checker.check(subject("double_click", after=screen, **OPENS))
    assert concluded(finding) == found
    assert finding.evidence["by"] == "title_bar"


def test_facts_without_a_title_leave_it_to_the_title_bar(checker):
    finding = checker.check(subject("double_click", after=window("Courrier - Outlook"), facts={"dpi": 96}, **OPENS))
    assert concluded(finding) == WRONG


@pytest.mark.parametrize(
    ("title", "found"), [("Bureau", (COMPLETE, None, True, False)), ("Compte rendu - Word", THERE)]
)
def test_without_an_expected_window_a_change_is_a_weak_proof(checker, title, found):
    made = subject("key_combo", facts={"title": title, "title_before": "Bureau"})
    assert checker.applies(made)
    finding = checker.check(made)
    assert concluded(finding) == found
    assert not finding.proof or finding.confidence == 0.6


@pytest.mark.parametrize(
    ("payload", "evidence", "applies"),
    [
        ({}, {"after": window("x")}, False),
        ({}, {"facts": {"title": "x"}}, False),
        (OPENS, {}, False),
        (OPENS, {"before": window("x")}, False),
        (OPENS, {"after": window("x")}, True),
        ({"target_spec": OPENS}, {"facts": {"title": "x"}}, True),
    ],
)
def test_it_needs_something_to_compare(checker, payload, evidence, applies):
    assert checker.applies(subject("key_combo", **evidence, **payload)) is applies


def test_asked_all_the_same_it_abstains(checker):
    assert concluded(checker.check(subject("key_combo", facts={"title": "x"}))) == ABSTAINS
    assert concluded(checker.check(subject("key_combo", before=window("x"), **OPENS))) == ABSTAINS
