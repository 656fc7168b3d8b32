"""Numbers and dates in texts, as queries read them: the rules of `models/number_text.py` and `models/date_text.py`.

A text that is none makes the prediction NULL: queries cannot raise errors.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from typing import Any

from symgrove.models.columns import TextFormat
from symgrove.models.date_text import DateFormat
from symgrove.models.number_text import MISSING, PERCENT, NumberFormat

_NOTHING = ", ".join(f"'{text}'" for text in MISSING)
_SPACES = (9, 10, 13, 160, 8201, 8239)  # characters that count as spaces


def quoted(text: str) -> str:
    """A text of SQL."""
    return "'" + text.replace("'", "''") + "'"


def with_numbers(source: str, formats: Mapping[int, tuple[str, TextFormat]], dialect: str, prefix: str) -> str:
    """A query of all columns of a table, and for the columns in `formats`, by number, two more.

    `formats` have the column's reference and format. The number is in <prefix>n<column>; <prefix>u<column> is 1 where
    a text is none.
    """
    levels: list[list[str]] = []
    for j, (reference, form) in formats.items():
        names: dict[str, Any] = {letter: f"{prefix}{letter}{j}" for letter in string.ascii_lowercase}
        if isinstance(form, DateFormat):
            own = _sqlite_dates(form) if dialect == "sqlite" else _duckdb_dates(form)
        else:
            own = _sqlite(form) if dialect == "sqlite" else _duckdb(form)
        for depth, parts in enumerate(own):
            texts = [f"{_filled(text, names | {'c': reference})} AS {names[letter]}" for letter, text in parts.items()]
            levels += [[]] if depth == len(levels) else []
            levels[depth] += texts
    for depth, columns in enumerate(levels):
        inside = source if depth == 0 else f"({source})"
        source = f"SELECT *, {', '.join(columns)} FROM {inside} AS {prefix}in"
    return source


def _filled(text: str, names: Mapping[str, str]) -> str:
    for letter, name in names.items():
        text = text.replace(f"<{letter}>", name)
    return text


def _sqlite(form: NumberFormat) -> Iterator[dict[str, str]]:
    """Expressions by letters, level by level: text, brackets, sign of a currency, sign, mantissa, is number, result."""
    between = " '" + ("." if form.decimal == "," else ",")
    clean = "<c>"
    for code in _SPACES:
        clean = f"replace({clean}, char({code}), ' ')"
    yield {"a": f"CASE WHEN typeof(<c>) = 'text' THEN trim({_plain_marks(clean, 'char')}) END"}
    yield {"b": "CASE WHEN <a> LIKE '(%)' THEN '-' || trim(substr(<a>, 2, length(<a>) - 2)) ELSE <a> END"}
    yield {"d": f"trim(replace(<b>, {quoted(form.sign)}, ''))" if form.sign else "<b>"}
    has_sign = "substr(<d>, 1, 1) IN ('-', '+')"
    yield {
        "s": f"CASE WHEN {has_sign} THEN substr(<d>, 1, 1) ELSE '' END",
        "r": f"lower(CASE WHEN {has_sign} THEN ltrim(substr(<d>, 2)) ELSE <d> END)",
    }
    yield {
        "m": "CASE WHEN instr(<r>, 'e') > 0 THEN substr(<r>, 1, instr(<r>, 'e') - 1) ELSE <r> END",
        "x": "CASE WHEN instr(<r>, 'e') > 0 THEN substr(<r>, instr(<r>, 'e') + 1) ELSE '0' END",
    }
    group, digit = f"[{between}]", "[0-9]"
    wrong = [f"*[^0-9{form.decimal}{between}]*", f"*{form.decimal}*{form.decimal}*", f"*{form.decimal}*{group}*"]
    wrong += [f"[0{between}]*{group}*", f"*{digit * 4}*{group}*", f"*{group}{digit * 4}*"]
    wrong += [f"*{group}{digit * k}" for k in range(3)] + [f"*{group}{digit * k}[^0-9]*" for k in range(3)]
    tests = [f"<m> GLOB '*{digit}*'", *(f"<m> NOT GLOB {quoted(pattern)}" for pattern in wrong)]
    tests += ["ltrim(<x>, '+-') GLOB '[0-9]*'", "ltrim(<x>, '+-') NOT GLOB '*[^0-9]*'", "length(<x>) < 6"]
    tests += [f"(instr(<b>, '{PERCENT}') > 0 OR <m> = '0')"] if form.sign == PERCENT else []
    yield {"k": f"({' AND '.join(tests)})"}
    digits = "<m>"
    for mark in between:
        digits = f"replace({digits}, {quoted(mark)}, '')"
    number = f"CAST(<s> || replace({digits}, '{form.decimal}', '.') || 'e' || <x> AS REAL){_share(form)}"
    yield _results("typeof(<c>) IN ('integer', 'real')", "CAST(<c> AS REAL)", number)


def _duckdb(form: NumberFormat) -> Iterator[dict[str, str]]:
    """The same, with regular expressions."""
    between = "[ ''" + (r"\." if form.decimal == "," else ",") + "]"
    decimal = r"\." if form.decimal == "." else ","
    text = _plain_marks("CAST(<c> AS VARCHAR)", "chr")
    spaces = r"[\s\x{00A0}\x{2009}\x{202F}]"
    yield {"a": f"CASE WHEN typeof(<c>) = 'VARCHAR' THEN trim(regexp_replace({text}, '{spaces}', ' ', 'g')) END"}
    yield {"b": "CASE WHEN <a> LIKE '(%)' THEN '-' || trim(substr(<a>, 2, length(<a>) - 2)) ELSE <a> END"}
    yield {"d": f"trim(replace(<b>, {quoted(form.sign)}, ''))" if form.sign else "<b>"}
    digits = rf"([0-9]+|[1-9][0-9]{{0,2}}({between}[0-9]{{3}})+)"
    pattern = rf"[-+]? *({digits}({decimal}[0-9]*)?|{decimal}[0-9]+)([eE][-+]?[0-9]+)?"
    test = f"regexp_full_match(<d>, '{pattern}')"
    if form.sign == PERCENT:
        test = f"({test} AND (contains(<b>, '{PERCENT}') OR trim(<d>, '+- ') = '0'))"
    yield {"k": test}
    digits = f"replace(regexp_replace(<d>, '{between}', '', 'g'), '{form.decimal}', '.')"
    is_number = "typeof(<c>) <> 'VARCHAR'"
    yield _results(is_number, "TRY_CAST(<c> AS DOUBLE)", f"TRY_CAST({digits} AS DOUBLE){_share(form)}")


def _plain_marks(text: str, function: str) -> str:
    """Typographic apostrophes and minuses made plain."""
    return f"replace(replace({text}, {function}(8217), ''''), {function}(8722), '-')"


def _share(form: NumberFormat) -> str:
    return " / 100e0" if form.sign == PERCENT else ""


def _results(is_number: str, as_it_is: str, read: str) -> dict[str, str]:
    return {
        "n": f"CASE WHEN {is_number} THEN {as_it_is} WHEN <k> THEN {read} END",
        "u": f"CASE WHEN <c> IS NULL OR {is_number} OR <k> OR lower(<a>) IN ({_NOTHING}) THEN 0 ELSE 1 END",
    }


def _sqlite_dates(form: DateFormat) -> Iterator[dict[str, str]]:
    """Text; date and time; separator; first part and the rest, hour and the rest; all parts; ISO date; result."""
    yield {"a": "CASE WHEN typeof(<c>) = 'text' THEN replace(trim(<c>), 'T', ' ') END"}
    yield {"d": _before("<a>", "' '"), "b": f"CASE WHEN instr(<a>, ' ') > 0 THEN {_after('<a>', ' ')} ELSE '0:00' END"}
    yield {"s": "CASE WHEN instr(<d>, '-') > 0 THEN '-' WHEN instr(<d>, '/') > 0 THEN '/' ELSE '.' END"}
    rest = "substr(<d>, instr(<d>, <s>) + 1)"
    yield {"r": _before("<d>", "<s>"), "m": rest, "h": _before("<b>", "':'"), "f": _after("<b>", ":")}
    yield {
        "x": _before("<m>", "<s>"),
        "y": "substr(<m>, instr(<m>, <s>) + 1)",
        "i": _before("<f>", "':'"),
        "j": f"CASE WHEN instr(<f>, ':') > 0 THEN {_after('<f>', ':')} ELSE '00' END",
    }
    year_first = f"<r> GLOB '{'[0-9]' * 4}' AND {_is_short('<x>')} AND {_is_short('<y>')}"
    year_last = f"<y> GLOB '{'[0-9]' * 4}' AND {_is_short('<x>')} AND {_is_short('<r>')}"
    dates = f"WHEN {year_first} THEN printf('%04d-%02d-%02d', <r>, <x>, <y>)"
    if form.order != "ymd":
        parts = "<y>, <x>, <r>" if form.order == "dmy" else "<y>, <r>, <x>"
        dates += f" WHEN {year_last} THEN printf('%04d-%02d-%02d', {parts})"
    two = "[0-9]" * 2
    is_second = f"<j> GLOB '{two}' OR (<j> GLOB '{two}.[0-9]*' AND <j> NOT GLOB '{two}.*[^0-9]*')"
    yield {
        "e": f"CASE {dates} END",
        "l": f"({_is_short('<h>')} AND CAST(<h> AS INTEGER) < 24 AND <i> GLOB '{two}' AND CAST(<i> AS INTEGER) < 60 "
        f"AND ({is_second}) AND CAST(<j> AS REAL) < 60)",
    }
    # With something added, SQLite takes the 31st of June for the first of July.
    yield {"k": "coalesce(date(<e>, '+0 days') = <e> AND <e> >= '0001-01-01' AND <l>, 0)"}
    clock = "(CAST(<h> AS INTEGER) * 3600e0 + CAST(<i> AS INTEGER) * 60e0 + CAST(<j> AS REAL)) / 86400e0"
    days = f"julianday(<e>) - 2440587.5e0 + {clock}"
    yield _results("typeof(<c>) IN ('integer', 'real')", "CAST(<c> AS REAL)", days)


def _before(text: str, mark: str) -> str:
    return f"CASE WHEN instr({text}, {mark}) > 0 THEN substr({text}, 1, instr({text}, {mark}) - 1) ELSE {text} END"


def _after(text: str, mark: str) -> str:
    return f"substr({text}, instr({text}, '{mark}') + 1)"


def _is_short(text: str) -> str:
    return f"({text} GLOB '[0-9]' OR {text} GLOB '[0-9][0-9]')"


def _duckdb_dates(form: DateFormat) -> Iterator[dict[str, str]]:
    """The same, with regular expressions; columns of dates are taken as texts."""
    yield {"a": "trim(CAST(<c> AS VARCHAR))"}
    time = "([T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?"
    first = "([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})"
    last = "([0-9]{1,2})[-/.]([0-9]{1,2})[-/.]([0-9]{4})"

    def iso(pattern: str, *order: int) -> str:
        parts = " || '-' || ".join(f"regexp_extract(<a>, '^{pattern}', {k})" for k in order)
        return f"WHEN regexp_full_match(<a>, '{pattern}{time}') THEN {parts}"

    dates = iso(first, 1, 2, 3)
    if form.order != "ymd":
        dates += " " + (iso(last, 3, 2, 1) if form.order == "dmy" else iso(last, 3, 1, 2))
    is_same = "regexp_extract(<a>, '^[0-9]+([-/.])', 1) = regexp_extract(<a>, '^[0-9]+[-/.][0-9]+([-/.])', 1)"
    clock = {"h": "[T ]([0-9]+):", "i": "[T ][0-9]+:([0-9]+)", "j": ":[0-9]+:([0-9.]+)"}
    yield {"e": f"CASE WHEN {is_same} THEN TRY_CAST(CASE {dates} END AS DATE) END"} | {
        letter: f"coalesce(TRY_CAST(nullif(regexp_extract(<a>, '{pattern}', 1), '') AS DOUBLE), 0e0)"
        for letter, pattern in clock.items()
    }
    yield {"k": "coalesce(<e> >= DATE '0001-01-01' AND <h> < 24 AND <i> < 60 AND <j> < 60, FALSE)"}
    days = "CAST(date_diff('day', DATE '1970-01-01', <e>) AS DOUBLE) + (<h> * 3600e0 + <i> * 60e0 + <j>) / 86400e0"
    is_number = "(typeof(<c>) NOT IN ('VARCHAR', 'DATE') AND typeof(<c>) NOT LIKE 'TIMESTAMP%')"
    yield _results(is_number, "TRY_CAST(CAST(<c> AS VARCHAR) AS DOUBLE)", days)
