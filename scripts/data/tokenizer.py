"""Byte-level BPE in the style of GPT-2, read from a GGUF file's metadata.

Follows the `smollm` pre-tokenizer: every digit is a word of its own, then the GPT-2 word pattern
(Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2) is applied
to what lies between the digits. Only ASCII text is taken, so that `[A-Za-z]` is all of `\\p{L}`.
"""

import re

WORD = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")
DIGIT = re.compile(r"([0-9])")


def byte_alphabet():
    """The printable character that stands for each byte in the vocabulary (GPT-2's table)."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {byte: chr(byte) for byte in shown}
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(0x100 + len(table) - len(shown))
    return table


class Tokenizer:
    """Maps text to token ids and back.

    `tokens` is the vocabulary in id order, `merges` the pairs ("a b") in order of rank.
    """

    def __init__(self, tokens, merges):
        self.tokens = tokens
        self.ids = {token: i for i, token in enumerate(tokens)}
        self.ranks = {tuple(m.split(" ")): rank for rank, m in enumerate(merges)}
        self.to_char = byte_alphabet()
        self.to_byte = {char: byte for byte, char in self.to_char.items()}

    def encode(self, text):
        """Token ids of an ASCII `text`; no start token is added, as the model's metadata says."""
        if not text.isascii():
            bad = next(c for c in text if not c.isascii())
            raise ValueError(f"the tokenizer takes ASCII text only, got {bad!r} at {text.index(bad)}")
        words = []
        for piece in DIGIT.split(text):
            words += [piece] if DIGIT.fullmatch(piece) else WORD.findall(piece)
        return [self.ids[part] for word in words for part in self._merge(word)]

    def special(self, name):
        """Id of a control token such as `<|im_start|>`."""
        return self.ids[name]

    def decode(self, ids):
        """Text of `ids`; a control token prints as its name."""
        joined = "".join(self.tokens[i] for i in ids)
        return bytes(self.to_byte[c] for c in joined).decode("utf-8", errors="replace")

    def _merge(self, word):
        """Joins the pair of lowest rank until no pair of the word is in the merge list."""
        parts = [self.to_char[byte] for byte in word.encode()]
        while len(parts) > 1:
            pairs = list(zip(parts, parts[1:]))
            best = min(pairs, key=lambda pair: self.ranks.get(pair, len(self.ranks)))
            if best not in self.ranks:
                break
            joined, i = [], 0
            while i < len(parts):
                if tuple(parts[i : i + 2]) == best:
                    joined.append(parts[i] + parts[i + 1])
                    i += 2
                else:
                    joined.append(parts[i])
                    i += 1
            parts = joined
        return parts
