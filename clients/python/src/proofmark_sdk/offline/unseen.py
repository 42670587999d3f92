"""Characters that a message cannot show as they are."""

from __future__ import annotations

import re
import unicodedata

# What has `Grapheme_Extend` without being a nonspacing or an enclosing mark (Unicode, PropList.txt).
_EXTENDS = re.compile(
    "[\u09be\u09d7\u0b3e\u0b57\u0bbe\u0bd7\u0cc0\u0cc2\u0cc7\u0cc8\u0cca\u0ccb\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf"
    "\u1715\u1734\u1b35\u1b3b\u1b3d\u1b43\u1b44\u1baa\u1bf2\u1bf3\u302e\u302f\ua953\ua9c0\uff9e\uff9f"
    "\U000111c0\U00011235\U0001133e\U0001134d\U00011357\U000114b0\U000114bd\U000115af\U000116b6\U00011930\U0001193d"
    "\U00011f41\U00016ff0\U00016ff1\U0001d165\U0001d166\U0001d16d-\U0001d172]"
)
# What can be seen since Unicode 14 to 17: Python 3.10 knows version 13, and every Python has to write the same message.
_SEEN_SINCE = """
    61d 870-88f 8b5 8c8-8c9 c5c-c5d cdc-cdd cf3 170d 171f 1b4c 1b4e-1b4f 1b7d-1b7f 1c89-1c8a 20c0-20c1 2427-2429 2b96 2c2f 2c5f
    2e53-2e5d 2ffc-2fff 31e4-31e5 31ef 9ffd-9fff a7c0-a7c1 a7cb-a7dc a7f1-a7f4 fbc2-fbd2 fd40-fd4f fd90-fd91 fdc8-fdcf fdfe-fdff
    10570-1057a 1057c-1058a 1058c-10592 10594-10595 10597-105a1 105a3-105b1 105b3-105b9 105bb-105bc 105c0-105f3 10780-10785
    10787-107b0 107b2-107ba 10940-10959 10d40-10d65 10d6e-10d85 10d8e-10d8f 10ec2-10ec7 10ed0-10ed8 10f70-10f81 10f86-10f89
    11071-11072 11075 1123f-11240 11380-11389 1138b 1138e 11390-113b5 113b7 113b9-113ba 113ca 113cc-113cd 113d1 113d3-113d5
    113d7-113d8 116b9 116d0-116e3 1171e 11740-11746 11ab0-11abf 11b00-11b09 11b61 11b65 11b67 11bc0-11be1 11bf0-11bf9
    11db0-11ddb 11de0-11de9 11f02-11f10 11f12-11f35 11f3e-11f3f 11f43-11f59 12f90-12ff2 1342f 13441-13446 13460-143fa
    16100-1611d 1612a-1612c 16130-16139 16a70-16abe 16ac0-16ac9 16d40-16d79 16ea0-16eb8 16ebb-16ed3 16ff2-16ff6 187f8-187ff
    18cff 18d09-18d1e 18d80-18df2 1aff0-1aff3 1aff5-1affb 1affd-1affe 1b11f-1b122 1b132 1b155 1cc00-1ccfc 1cd00-1ceb3
    1ceba-1ced0 1cee0-1cef0 1cf50-1cfc3 1d1e9-1d1ea 1d2c0-1d2d3 1df00-1df1e 1df25-1df2a 1e030-1e06d 1e290-1e2ad 1e4d0-1e4eb
    1e4f0-1e4f9 1e5d0-1e5ed 1e5f0-1e5fa 1e5ff 1e6c0-1e6de 1e6e0-1e6e2 1e6e4-1e6e5 1e6e7-1e6ed 1e6f0-1e6f4 1e6fe-1e6ff
    1e7e0-1e7e6 1e7e8-1e7eb 1e7ed-1e7ee 1e7f0-1e7fe 1f6d8 1f6dc-1f6df 1f774-1f77f 1f7d9 1f7f0 1f8b2-1f8bb 1f8c0-1f8c1
    1f8d0-1f8d8 1f979 1f9cc 1fa54-1fa57 1fa75-1fa77 1fa7b-1fa7c 1fa87-1fa8a 1fa8e-1fa8f 1faa9-1faaf 1fab7-1fabf 1fac3-1fac6
    1fac8 1facd-1facf 1fad7-1fadc 1fadf-1faea 1faef-1faf8 1fbcb-1fbef 1fbfa 2a6de-2a6df 2b735-2b73f 2cea2-2cead 2ebf0-2ee5d
    31350-33479
"""


def _pattern(ranges: str) -> re.Pattern[str]:
    ends = (part.partition("-") for part in ranges.split())
    return re.compile("[" + "".join(f"{chr(int(first, 16))}-{chr(int(last or first, 16))}" for first, _, last in ends) + "]")


_SEEN = _pattern(_SEEN_SINCE)


def is_unseen(char: str) -> bool:
    """Whether a character cannot be seen, or changes the character before it."""
    if char == " " or _SEEN.match(char):
        return False
    category = unicodedata.category(char)
    return category[0] in "CZ" or category in ("Mn", "Me") or _EXTENDS.match(char) is not None
