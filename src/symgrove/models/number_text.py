"""Numbers as tables write them: thousands separators, a decimal comma, currency signs, percent.

A column remembers how its numbers are written (`NumberFormat`, a part of the model), so that predictions and exports
read the same texts. A number is taken as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.models.document import Document, Entries

MISSING = (
    "",
    "na",
    "n/a",
    "nan",
    "+nan",
    "-nan",
    "null",
    "none",
    "?",
)  # texts that stand for nothing, in small letters
DECIMALS = (".", ",")
PERCENT = "%"
# Currencies without a character of their own. What is not here makes a column of texts.
_CODES = (
    "US$ A$ C$ R$ NZ$ HK$ AED AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EUR GBP HKD HUF IDR ILS INR ISK JPY KRW MXN MYR "
    "NOK NZD PHP PLN RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR Fr. SFr. Kč Ft kr kr. lei zł Rs Rs."
)
_CURRENCIES = _CODES.split()
_SIGN = re.compile(
    r"^[-+\u2212(]?\s*(?P<before>{0})?\s*[-+\u2212]?[\d.,'\s\u2019]+\s*(?P<after>{0})?\)?$".format(
        "|".join([*sorted(map(re.escape, _CURRENCIES), key=len, reverse=True), r"[^\w\s.,;:'\u2019()+\-\u2212/]"])
    )
)


def parse_number(text: str, decimal: str, sign: str) -> float:
    """The number in a text, NaN where nothing is there; ValueError for other texts.

    Spaces, apostrophes, and points or commas that are not the decimal sign are between groups of three digits. A sign
    is left out; percent must be there, and makes hundredths. Brackets are a minus.
    """
    body = re.sub(r"\s", " ", text).strip().replace("\u2019", "'").replace("\u2212", "-")
    if body.lower() in ("", "na", "n/a", "nan", "+nan", "-nan", "null", "none", "?"):
        return float("nan")
    if body[0] + body[-1] == "()":
        body = "-" + body[1:-1].strip()
    bare = body.replace(sign, "") if sign else body
    between = "[ '" + (r"\." if decimal == "," else ",") + "]"
    digits = rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{between}[0-9]{{3}})+)"
    number = rf"{digits}(?:[{decimal}][0-9]*)?|[{decimal}][0-9]+"
    match = re.fullmatch(rf" *([-+]?) *({number})((?:[eE][-+]?[0-9]+)?) *", bare)
    if match is None or (sign == "%" and bare == body and match[2] != "0"):
        raise ValueError(f"no number: {text!r}")
    value = float(match[1] + re.sub(between, "", match[2]).replace(decimal, ".") + match[3])
    return value / 100 if sign == "%" else value


class NumberFormat(NamedTuple):
    """How the numbers of a column are written: the decimal sign, and the sign of a currency, % or nothing."""

    decimal: str = "."
    sign: str = ""

    def numbers(self, values: Any, name: str) -> NDArray[np.float64]:
        """Numbers from texts; numbers as they are, NaN where there is nothing."""
        known: dict[str, float] = {}
        found = []
        for value in np.asarray(values, dtype=object).tolist():
            if isinstance(value, str):
                if value not in known:
                    known[value] = self._number(value, name)
                found.append(known[value])
            else:
                found.append(np.nan if value is None or type(value).__name__ in ("NAType", "NaTType") else float(value))
        return np.array(found, dtype=np.float64)

    def _number(self, text: str, name: str) -> float:
        try:
            found = parse_number(text, self.decimal, self.sign)
        except ValueError:
            raise ValueError(
                f"column {name!r} must be numbers as it was for the fit{self.said}, but holds {text!r}."
            ) from None
        if np.isinf(found):
            raise ValueError(f"column {name!r} has an infinite number, {text!r:.60}; only finite ones can be used.")
        return found

    @property
    def example(self) -> tuple[str, float]:
        """A text and its number."""
        text = "1.250,5" if self.decimal == "," else "1,250.5"
        text = text if not self.sign else f"{text} %" if self.sign == PERCENT else f"{self.sign} {text}"
        return text, parse_number(text, *self)

    @property
    def said(self) -> str:
        """What is special about it, in words."""
        parts = ["with a decimal comma"] if self.decimal == "," else []
        parts += [f"with {self.sign}"] if self.sign else []
        return f", {' and '.join(parts)}" if parts else ""

    def document(self) -> Document:
        """For the model file."""
        return {"kind": "number", "decimal": self.decimal, "sign": self.sign}


def number_format_from(entries: Entries) -> NumberFormat:
    """Undo `document`."""
    sign = entries.text("sign")
    if sign and sign_of(f"1 {sign}") != sign:
        raise ValueError(f"'sign' of {entries.where} must be % or that of a currency, got {sign!r:.20}.")
    return NumberFormat(entries.text("decimal", DECIMALS), sign)


def sign_of(text: str) -> str | None:
    """The currency's or percent's sign beside a number, an empty text if there is none; None if it is no number."""
    match = _SIGN.match(text.strip())
    if match is None:
        return None
    signs = [sign for sign in match.group("before", "after") if sign]
    is_known = all(sign in (PERCENT, *_CURRENCIES) or unicodedata.category(sign[-1]) == "Sc" for sign in signs)
    return "".join(signs) if len(signs) < 2 and is_known else None


def format_of_texts(texts: Iterable[str], decimals: Iterable[str] = DECIMALS) -> NumberFormat | None:
    """The format in which all texts are numbers, with the first decimal sign that will do; None if there is none."""
    known, sign = list(dict.fromkeys(texts)), ""
    for text in known:
        own = sign if _is(text, ".", sign) or _is(text, ",", sign) else sign_of(text)
        if own is None or (sign and own not in ("", sign)):
            return None
        sign = sign or own
    is_written = [d for d in decimals if known and all(_is(text, d, sign) for text in known)]
    return NumberFormat(is_written[0], sign) if is_written else None


def share_of_numbers(texts: list[str]) -> tuple[float, list[str]]:
    """How many of some texts are numbers in any format, and those that are not."""
    odd = [text for text in texts if sign_of(text) is None and not (_is(text, ".", "") or _is(text, ",", ""))]
    return 1 - len(odd) / max(len(texts), 1), list(dict.fromkeys(odd))


def _is(text: str, decimal: str, sign: str) -> bool:
    try:
        parse_number(text, decimal, sign)
    except ValueError:
        return False
    return True
