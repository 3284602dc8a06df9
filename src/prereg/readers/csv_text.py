"""CSV -> a table of texts, each row with the line on which it begins; an empty cell is missing."""

from __future__ import annotations

import csv
import io

from prereg.errors import InputError, Place, Problem
from prereg.readers.tables import Table, check_header, first_few

_NO_SIGNS = bytes(sign for sign in range(256) if sign not in b",\n")


def read_csv(name: str, content: str) -> Table:
    """The table of a text; InputError for what is malformed, each problem at its line."""
    table = Table(name)
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    try:
        header = next(reader)
    except csv.Error as error:
        raise InputError(_malformed(name, error, 1, reader.line_num)) from None
    check_header(name, header)
    width = len(header)
    line = reader.line_num
    if _plain(table, header, content):
        return table
    rows: list[list[str]] = []
    problems: list[Problem] = []
    try:
        for row in reader:
            begin, line = line + 1, reader.line_num
            if len(row) == width:
                rows.append(row)
                table.lines.append(begin)
            elif row:  # an empty line between records is no record
                found = f"found {len(row)} cell{'s' * (len(row) != 1)}, expected {width} as in the header"
                problems.append(Problem(found, Place(name, begin)))
    except csv.Error as error:
        raise InputError(*first_few(problems), _malformed(name, error, line + 1, reader.line_num)) from None
    if problems:
        raise InputError(*first_few(problems))
    columns = zip(*rows, strict=True) if rows else [()] * width
    table.columns = {key: list(cells) for key, cells in zip(header, columns, strict=True)}
    return table


def _plain(table: Table, header: list[str], content: str) -> bool:
    """Fill the table where no cell is quoted and every line is a record, several times faster than `csv`.

    False, and nothing done, where the file is not as plain as that: then the csv module reads it.
    """
    width = len(header)
    if '"' in content or width < 2:
        return False
    text = content.replace("\r\n", "\n").removesuffix("\n")
    signs = text.encode(errors="surrogatepass").translate(None, _NO_SIGNS)
    row = b"," * (width - 1)
    rows = len(signs) // width
    if "\r" in text or signs != (row + b"\n") * rows + row:
        return False
    cells = text.replace("\n", ",").split(",")
    table.columns = {key: cells[width + i :: width] for i, key in enumerate(header)}
    table.lines = list(range(2, rows + 2))
    return True


def _malformed(name: str, error: csv.Error, begin: int, end: int) -> Problem:
    """What the CSV reader stumbled over, in words, at the line where the record begins."""
    if "unexpected end" in str(error):
        return Problem(
            "malformed CSV: the record that begins here holds a quote that is never closed",
            Place(name, begin),
        )
    said = (
        'after a closing quote a comma or the end of the line is expected; a quote in a cell is written ""'
        if "expected after" in str(error)
        else str(error)
    )
    return Problem(f"malformed CSV: {said}", Place(name, end))
