"""Is the window that the action acts in, in front?"""

import pytest
from window_kit import subject, tabs, window, window_over

from otel_validation.checkers.window_focus import WindowFocusChecker
from otel_validation.validation.verdict import FailureCategory, Verdict

COMPLETE, CONTINUE, TERMINATE = Verdict.COMPLETE, Verdict.CONTINUE, Verdict.TERMINATE
DPI = {"window_title": "DPI - Dossier patient", "application": "DPI"}


@pytest.fixture(scope="module")
def checker():
    checker = WindowFocusChecker()
    checker.warm_up()
    return checker


def concluded(finding):
    return finding.verdict, finding.category, finding.verified, finding.proof


RIGHT = (COMPLETE, None, True, False)
"""Nothing against the action; no proof of an effect either."""
WRONG = (TERMINATE, FailureCategory.WRONG_APPLICATION, True, True)
ABSTAINS = (CONTINUE, None, False, False)


class TestFacts:
    @pytest.mark.parametrize(
        ("facts", "found"),
        [
            ({"title": "DPI - Dossier patient - Google Chrome", "process": "chrome.exe"}, RIGHT),
            ({"title": "DPI - Dossier de MARTIN \u00c9loise - Google Chrome", "process": "chrome.exe"}, RIGHT),
            ({"title": "Knowledge base of the DPI team - Google Chrome", "process": "chrome.exe"}, WRONG),
            ({"title": "Courrier - Outlook", "process": "outlook.exe"}, WRONG),
            ({"title": "", "process": "dpi.exe"}, (CONTINUE, None, False, False)),
            ({"process": "winword.exe"}, WRONG),
            ({"process": "chrome.exe"}, ABSTAINS),
            ({"rect": [0, 0, 10, 10]}, ABSTAINS),
        ],
    )
    def test_a_text_goes_where_the_keyboard_is(self, checker, facts, found):
        made = subject("type", facts=facts, target_spec=DPI)
        assert checker.applies(made)
        assert concluded(checker.check(made)) == found

    def test_a_program_may_be_named_instead_of_a_title(self, checker):
        right = subject("type", facts={"title": "x", "process": r"C:\Apps\Easily.exe"}, application="easily")
        assert concluded(checker.check(right)) == RIGHT
        wrong = subject("type", facts={"title": "x", "process": "edge.exe"}, application="easily")
        assert concluded(checker.check(wrong)) == WRONG

    def test_a_click_may_open_another_window_so_only_the_one_before_counts(self, checker):
        after = {"title": "Courrier - Outlook", "process": "outlook.exe"}
        assert concluded(checker.check(subject("click", facts=after, target_spec=DPI))) == ABSTAINS
        before = {**after, "title_before": "DPI - Dossier patient"}
        assert concluded(checker.check(subject("click", facts=before, target_spec=DPI))) == RIGHT
        other = {"title": "DPI - Dossier patient", "title_before": "Nouvel onglet - Google Chrome"}
        assert concluded(checker.check(subject("click", facts=other, target_spec=DPI))) == WRONG

    def test_a_window_without_the_focus_is_looked_at_again(self, checker):
        facts = {"title": "DPI - Dossier patient", "foreground": False}
        finding = checker.check(subject("type", facts=facts, target_spec=DPI))
        assert concluded(finding) == (CONTINUE, FailureCategory.WRONG_APPLICATION, True, True)
        assert concluded(checker.check(subject("click", facts=facts, target_spec=DPI))) == ABSTAINS

    def test_facts_go_before_pixels(self, checker):
        made = subject("type", after=window("Courrier - Outlook"), facts={"title": "DPI"}, application="DPI")
        finding = checker.check(made)
        assert concluded(finding) == RIGHT
        assert finding.evidence["by"] == "facts"


class TestTitleBar:
    @pytest.mark.parametrize(
        ("screen", "found"),
        [
            (window("DPI - Dossier patient"), RIGHT),
            (window("DPI - Dossier de MARTIN"), RIGHT),
            (window("Courrier - Outlook"), WRONG),
            (tabs("DPI - Dossier patient", "Actualites"), RIGHT),
            (tabs("Messagerie Orange", "Actualites du jour"), ABSTAINS),
            (window(""), ABSTAINS),
            (window_over(window("Courrier - Outlook"), "DPI - Dossier patient"), ABSTAINS),
        ],
        ids=[
            "same",
            "another document",
            "another application",
            "among tabs",
            "not among tabs",
            "nothing to read",
            "behind a smaller window",
        ],
    )
    def test_it_is_read_where_there_are_no_facts(self, checker, screen, found):
        finding = checker.check(subject("click", before=screen, after=window("x"), target_spec=DPI))
        assert concluded(finding) == found
        assert finding.evidence["by"] == "title_bar"

    def test_of_a_click_the_screen_after_tells_nothing(self, checker):
        made = subject("click", after=window("Courrier - Outlook"), target_spec=DPI)
        assert concluded(checker.check(made)) == ABSTAINS
        assert concluded(checker.check(subject("type", after=window("Courrier - Outlook"), target_spec=DPI))) == WRONG


@pytest.mark.parametrize(
    ("payload", "evidence", "applies"),
    [
        ({}, {"facts": {"title": "x"}}, False),
        (DPI, {}, False),
        (DPI, {"facts": {"title": "x"}}, True),
        (DPI, {"after": window("x")}, True),
        ({"window_title": 3, "application": " "}, {"facts": {"title": "x"}}, False),
    ],
)
def test_it_needs_an_expected_window_and_something_to_compare(checker, payload, evidence, applies):
    assert checker.applies(subject("type", **evidence, **payload)) is applies
