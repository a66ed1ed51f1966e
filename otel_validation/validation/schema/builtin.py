"""What the value of each action type must be (the seeds' matrices), as pydantic schemas.

Everything is strict: "12" is no integer, true no text, "uhcd " no decision. Members that a schema does not name are
let through unread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal, Protocol

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from otel_validation.validation.schema.jsonvalue import Problem, path

TELLING_FROM = 50
"""Characters from which a free text is more than a few words (validator deep-dive, section 4)."""


class Schema(Protocol):
    """Says what does not fit in a value."""

    @property
    def wants_text(self) -> bool:
        """Whether a text is taken as it is; elsewhere it is read as JSON."""

    def problems(self, value: object, *, root: str = "value") -> Iterator[Problem]:
        """The places where the value does not fit, with paths from `root`; none where it does."""

    def telling(self, value: object, /) -> bool:
        """Whether a value that fits is more than a few words, which could be anything."""


def _readable(text: str) -> str:
    if not any(map(str.isalnum, text)):
        raise PydanticCustomError("readable", "no letter and no figure")
    return text


def _cell(value: object) -> object:
    if value is not None and not isinstance(value, str | int | float):
        raise PydanticCustomError("cell", "no cell")
    return value


def _kind_of_row(value: object) -> str | None:
    return _OBJECT if isinstance(value, dict) else _LIST if isinstance(value, list) else None


def _not_blank(rows: list[Any]) -> list[Any]:
    cells = (cell for row in rows for cell in (row.values() if isinstance(row, dict) else row))
    if not any(cell is not None and str(cell).strip() for cell in cells):
        raise PydanticCustomError("filled", "only empty cells")
    return rows


def _saved(value: object) -> object:
    """What a saved record may be: itself, several, or how many. Told that none was saved, it is not one."""
    if isinstance(value, dict):
        saved = bool(value) and not any(_denies(value[name]) for name in _SAVED if name in value)
    elif isinstance(value, list):
        saved = bool(value)
    else:
        saved = isinstance(value, int) and not isinstance(value, bool) and not _denies(value)
    if not saved:
        raise PydanticCustomError("saved", "not saved")
    return value


def _denies(count: object) -> bool:
    return count is None or (isinstance(count, int) and count < 1)


def _answered(value: object) -> object:
    if isinstance(value, str):
        return _readable(value)
    if not isinstance(value, dict | list) or not value:
        raise PydanticCustomError("answered", "no answer")
    return value


_OBJECT, _LIST = "{row}", "[row]"
_SAVED = ("rows_affected", "rowcount", "saved")
_Cell = Annotated[object, PlainValidator(_cell)]
_Row = Annotated[
    Annotated[dict[str, _Cell], Tag(_OBJECT)] | Annotated[list[_Cell], Tag(_LIST)],
    Discriminator(_kind_of_row, custom_error_type="row", custom_error_message="no row"),
]
Text = Annotated[str, AfterValidator(_readable)]
"""What a person could have read: a letter or a figure at least."""
Table = Annotated[list[_Row], Field(min_length=1), AfterValidator(_not_blank)]
"""Rows, at least one: objects or lists of cells (text, number, true, false, null), of which one is not empty."""
_Record = Annotated[
    Annotated[dict[str, object], Tag(_OBJECT)] | Annotated[list[object], Tag(_LIST)],
    Discriminator(_kind_of_row, custom_error_type="row", custom_error_message="no row"),
]
Records = Annotated[
    Annotated[dict[str, object], Tag(_OBJECT)] | Annotated[list[_Record], Tag(_LIST)],
    Discriminator(_kind_of_row, custom_error_type="records", custom_error_message="no records"),
]
"""One record, or a list of them, which may be empty: a query that finds nothing has an answer."""
Saved = Annotated[object, PlainValidator(_saved)]
Answer = Annotated[object, PlainValidator(_answered)]


class Decision(BaseModel):
    """What `t2a_decision` decides; a justification and a confidence may be left out."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    decision: Literal["UHCD", "FORFAIT", "NA"]
    justification: Annotated[str, Field(min_length=10, max_length=5_000)] | None = None
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None


@dataclass(frozen=True, slots=True)
class TypedSchema:
    """A pydantic type as a Schema. The value is the report's, or where that is an object what stands in the first of
    its members `inside` that is there. `names` are shown in paths.
    """

    adapter: TypeAdapter[Any]
    inside: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    wants_text: bool = False

    def problems(self, value: object, *, root: str = "value") -> Iterator[Problem]:
        """See Schema."""
        value, member = self._proper(value)
        root += member
        try:
            self.adapter.validate_python(value)
        except ValidationError as error:
            for details in error.errors(include_url=False, include_input=False):
                steps = [step for step in details["loc"] if step not in {_OBJECT, _LIST}]
                yield Problem(path(root, steps, self.names), _expected(details))

    def telling(self, value: object, /) -> bool:
        """See Schema."""
        content, _ = self._proper(value)
        return not (self.wants_text and isinstance(content, str) and len(content) < TELLING_FROM)

    def _proper(self, value: object) -> tuple[object, str]:
        """The value proper, and the step that leads to it."""
        for name in self.inside:
            if isinstance(value, dict) and name in value:
                return value[name], f".{name}"
        return value, ""


_EXPECTED = {
    "answered": "text with a letter or a figure, or an object or list that is not empty",
    "bool_type": "true or false",
    "cell": "text, number, true, false or null",
    "dict_type": "object",
    "filled": "a cell that is not empty",
    "finite_number": "finite number",
    "float_type": "number",
    "int_type": "integer",
    "list_type": "list",
    "missing": "a value",
    "model_type": "object",
    "records": "record or list of records",
    "readable": "text with a letter or a figure",
    "row": "object or list of cells",
    "saved": "the saved record, or how many were saved (1 or more)",
    "string_type": "text",
}
"""What was expected, by pydantic's type of error. Its messages are not used: they may hold what was sent."""
_LIMITS = {
    "min_length": "a length of at least",
    "max_length": "a length of at most",
    "ge": "at least",
    "gt": "more than",
    "le": "at most",
    "lt": "less than",
}


def _expected(details: ErrorDetails) -> str:
    known, limits = _EXPECTED.get(details["type"]), details.get("ctx") or {}
    if details["type"] == "literal_error":
        return f"one of {limits['expected']}"
    limit = next((f"{words} {limits[name]}" for name, words in _LIMITS.items() if name in limits), None)
    return known or limit or details["type"].replace("_", " ")


_STRICT = ConfigDict(strict=True)
_TEXT = TypedSchema(TypeAdapter(Text, config=_STRICT), inside=("value", "text"), wants_text=True)
_TABLE = TypedSchema(TypeAdapter(Table, config=_STRICT), inside=("rows", "table", "data"))

SCHEMAS: Mapping[str, Schema] = MappingProxyType(
    {
        "extract_text": _TEXT,
        "extract_text_scroll": _TEXT,
        "extract_table": _TABLE,
        "t2a_decision": TypedSchema(TypeAdapter(Decision), names=frozenset(Decision.model_fields)),
        "db_save_data": TypedSchema(TypeAdapter(Saved, config=_STRICT)),
        "db_read_data": TypedSchema(TypeAdapter(Records, config=_STRICT), inside=("rows", "data")),
        "import_excel": _TABLE,
        "ai_*": TypedSchema(TypeAdapter(Answer, config=_STRICT), wants_text=True),
    }
)
"""By action type; `ai_*` stands for every type that begins so."""
