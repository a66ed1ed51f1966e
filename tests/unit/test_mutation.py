"""The mutants are what they are called, and the count of them is right."""

import pytest
from delivery_kit import a_finding

from benchmarks import mutation
from benchmarks.mutation import FLOORS, VALIDATOR, Tally, main, mutants, rows, steps, wilson
from otel_validation.validation.verdict import FailureCategory, ValidationResult, Verdict, abstention

STOP = a_finding(Verdict.TERMINATE, category=FailureCategory.WRONG_TARGET, checker="ocr_roi")


def a_result(verdict, *findings):
    return ValidationResult(verdict=verdict, confidence=0.9, reasoning="", findings=findings)


def test_every_kind_is_made_of_every_step_and_differs_from_it():
    for step in steps():
        made = list(mutants(step))
        assert {kind for kind, _ in made} | {"neighbour"} == set(FLOORS)  # a button may stand alone
        for kind, mutant in made:
            same_screens = mutant.before is step.before and mutant.after is step.after
            assert (mutant.at != step.at) is (kind in ("shifted", "neighbour"))
            assert same_screens is (kind in ("shifted", "neighbour"))
            if kind == "shifted":
                x0, y0, x1, y1 = step.label
                assert not (x0 <= mutant.at[0] <= x1 and y0 <= mutant.at[1] <= y1)


def test_wilsons_interval():
    """The values of his example in Newcombe's comparison (1998): 81 of 263, and 0 of 20."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_a_mutant_survives_where_it_is_found_complete():
    tally = Tally()
    tally.add("stale", "one", a_result(Verdict.TERMINATE, STOP, a_finding(checker="pixel_diff")))
    tally.add("stale", "two", a_result(Verdict.COMPLETE, a_finding(checker="pixel_diff")))
    tally.add("stale", "three", a_result(Verdict.CONTINUE, abstention("title_bar", "", {})))
    found = {row["judge"]: (row["mutants"], row["killed"], row["floor"]) for row in rows(tally)}
    assert found == {VALIDATOR: (3, 2, 0.95), "ocr_roi": (1, 1, None), "pixel_diff": (2, 0, None)}
    assert tally.survivors == ["stale: two"]


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.TERMINATE, 0), (Verdict.COMPLETE, 1)])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_rate_under_its_floor_fails_the_run(monkeypatch, capsys, verdict, code, options):
    tally = Tally()
    tally.add("stale", "one", a_result(verdict, STOP))
    monkeypatch.setattr(mutation, "measure", lambda **_: tally)
    assert main(options) == code
    assert ("the floor is 95%" in capsys.readouterr().err) is bool(code)
