"""Numbers in the words of people, with a dash for what is not known."""

from __future__ import annotations

import unicodedata

DASH = "-"


def bytes_text(size: int | None) -> str:
    """A number of bytes in at most eight characters.

    >>> bytes_text(1536), bytes_text(5 << 30), bytes_text(None)
    ('1.5 KiB', '5.0 GiB', '-')
    """
    if size is None:
        return DASH
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        # 1023.95 would be written as 1024.0, which belongs to the next unit.
        if abs(value) < 1023.95 or unit == "TiB":
            break
        value /= 1024
    precise = unit != "B" and abs(value) < 99.95
    return f"{value:.1f} {unit}" if precise else f"{value:.0f} {unit}"


def memory_text(used: int | None, size: int | None) -> str:
    """What is used of a memory, in the unit of its size.

    >>> memory_text(3 << 29, 64 << 30)
    '1.5 / 64.0 GiB'
    """
    if size is None:
        return bytes_text(used)
    whole = bytes_text(size)
    if used is None:
        return f"{DASH} / {whole}"
    unit = whole.split()[1]
    power = ("B", "KiB", "MiB", "GiB", "TiB").index(unit)
    part = used / 1024**power
    return f"{part:.1f} / {whole}" if power else f"{part:.0f} / {whole}"


def percent_text(share: float | None) -> str:
    """A share of 1 in percent.

    >>> percent_text(0.614), percent_text(0.003), percent_text(None)
    ('61 %', '0.3 %', '-')
    """
    if share is None:
        return DASH
    percent = share * 100
    return f"{percent:.1f} %" if 0.05 <= percent < 9.95 else f"{percent:.0f} %"


def clock_text(mhz: float | None) -> str:
    """A clock.

    >>> clock_text(800), clock_text(3201.4)
    ('800 MHz', '3.20 GHz')
    """
    if mhz is None:
        return DASH
    return f"{mhz:.0f} MHz" if mhz < 999.5 else f"{mhz / 1000:.2f} GHz"


def celsius_text(celsius: float | None) -> str:
    """A temperature."""
    return DASH if celsius is None else f"{celsius:.0f} °C"


def watts_text(watts: float | None) -> str:
    """A power.

    >>> watts_text(7.25), watts_text(142.0)
    ('7.2 W', '142 W')
    """
    if watts is None:
        return DASH
    return f"{watts:.1f} W" if watts < 99.95 else f"{watts:.0f} W"


def short_name(name: str) -> str:
    """The name of a device without what all of them have in common.

    >>> short_name("Groundstate CPU device: Intel(R) Xeon(R) Platinum 8480+")
    'Xeon Platinum 8480+'
    """
    short = printable(name).removeprefix("Groundstate CPU device: ")
    for mark in ("(R)", "(TM)", "(tm)"):
        short = short.replace(mark, "")
    return short.removeprefix("Intel ").removeprefix("NVIDIA ")


def printable(text: str) -> str:
    """A text from elsewhere without what would move a terminal's cursor or change its colours.

    >>> printable("a\\x1b[31mb\\nc")
    'a?[31mb c'
    """
    return "".join(
        " " if each.isspace() else "?" if unicodedata.category(each)[0] == "C" else each
        for each in text
    )


def cut(text: str, length: int = 160) -> str:
    """A text of at most some length.

    >>> cut("a long command", 10)
    'a long ...'
    """
    return text if len(text) <= length else text[: length - 3] + "..."


def duration_text(nanoseconds: int | float | None) -> str:
    """A length of time in three digits.

    >>> duration_text(812), duration_text(3_420), duration_text(61_300_000), duration_text(None)
    ('812 ns', '3.42 µs', '61.3 ms', '-')
    """
    if nanoseconds is None:
        return DASH
    value = float(nanoseconds)
    for unit in ("ns", "µs", "ms", "s"):
        # 999.5 would be written as 1000, which belongs to the next unit.
        if value < 999.5 or unit == "s":
            break
        value /= 1000
    digits = 0 if unit == "ns" or value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f} {unit}"
