"""A team's own matrix and routes, from a TOML file over those that are built in."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from otel_validation.errors import ConfigurationError
from otel_validation.validation.matrix import JUDGE, MATRIX, Row
from otel_validation.validation.routing import ROUTES, Route
from otel_validation.validation.verdict import FailureCategory  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

Budget = Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Which checkers judge an action type, and what the server does with a TERMINATE of a category."""

    matrix: Mapping[str, Row] = field(default_factory=lambda: MATRIX)
    routes: Mapping[FailureCategory, Route] = field(default_factory=lambda: MappingProxyType(ROUTES))


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=False)


class _Row(_Table):
    checks: tuple[str, ...] | None = None
    then: tuple[str, ...] | None = None
    budget_s: Budget | None = None
    then_budget_s: Budget | None = None


class _File(_Table):
    matrix: dict[str, _Row] = Field(default_factory=dict)
    routes: dict[FailureCategory, Route] = Field(default_factory=dict)


def load_rules(path: Path, *, checkers: Collection[str]) -> Rules:
    """Read `path` over the rules that are built in.

    ```toml
    [matrix.click]                     # members that are left out stay as they are
    checks = ["ocr_roi", "pixel_diff"]
    budget_s = 1.5

    [matrix."labo_*"]                  # a new row: a type, or all that begin so
    checks = ["json_schema"]

    [routes]
    wrong_target = "pause"
    ```

    `checkers` are those that a row may name, beside `llm_judge`. Raises ConfigurationError for a file that cannot be
    read or a member that is not known, with the member's place in the file.
    """
    try:
        read = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"the rules in {path} cannot be read: {error}") from error
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False))
        raise ConfigurationError(f"the rules in {path} are not right: {wrong}") from error
    known = {*checkers, JUDGE}
    matrix = dict(MATRIX)
    for kind, row in read.matrix.items():
        unknown = {*(row.checks or ()), *(row.then or ())} - known
        if unknown:
            wrong = f"matrix.{kind} names {_listed(unknown)}; known are {_listed(known)}"
            raise ConfigurationError(f"the rules in {path} are not right: {wrong}")
        matrix[kind] = replace(matrix.get(kind, Row()), **row.model_dump(exclude_none=True))
    return Rules(matrix=MappingProxyType(matrix), routes=MappingProxyType({**ROUTES, **read.routes}))


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))
