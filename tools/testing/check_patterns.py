"""Patterns of CHECK lines: literal text, {{regex}}, [[NAME:regex]] to capture, [[NAME]] to use, [[@LINE+n]].

Outside {{ }} and [[ ]] the text is literal, except that a run of blanks matches any run of blanks. A pattern never
matches across a line end. Compiling a pattern substitutes the variables known so far.
"""

import re

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
PIECE = re.compile(
    r"\{\{(?P<regex>.*?)\}\}(?!\})"
    rf"|\[\[(?P<define>{NAME}):(?P<body>.*?)\]\](?!\])"
    rf"|\[\[(?P<use>{NAME})\]\]"
    r"|\[\[#?\s*@LINE\s*(?:(?P<sign>[+-])\s*(?P<offset>\d+))?\s*\]\]"
)


class PatternError(Exception):
    """A pattern that can't be compiled: bad regular expression or a variable that has no value."""


class Pattern:
    """The text of one CHECK line, ready to be compiled against the values of variables."""

    def __init__(self, text, line, strict_whitespace=False):
        self.text = text if strict_whitespace else text.strip()
        self.line = line
        self.strict_whitespace = strict_whitespace

    def defines_or_uses_variables(self):
        return any(m.group("define") or m.group("use") for m in PIECE.finditer(self.text))

    def compile(self, variables):
        """The regular expression for this pattern; captured variables are its named groups."""
        parts, defined, at = [], set(), 0
        for match in PIECE.finditer(self.text):
            parts.append(self._literal(self.text[at : match.start()]))
            parts.append(self._piece(match, variables, defined))
            at = match.end()
        parts.append(self._literal(self.text[at:]))
        try:
            return re.compile("".join(parts))
        except re.error as error:
            raise PatternError(f"bad regular expression: {error}") from None

    def _piece(self, match, variables, defined):
        if match.group("regex") is not None:
            return f"(?:{match.group('regex')})"
        if match.group("define"):
            name = match.group("define")
            if name in defined:
                raise PatternError(f"the variable {name} is defined twice in one line")
            defined.add(name)
            return f"(?P<{name}>{match.group('body')})"
        if match.group("use"):
            name = match.group("use")
            if name in defined:
                return f"(?P={name})"
            if name not in variables:
                raise PatternError(f"the variable {name} has no value yet")
            return re.escape(variables[name])
        offset = int(match.group("offset") or 0)
        return str(self.line + (-offset if match.group("sign") == "-" else offset))

    def _literal(self, text):
        if self.strict_whitespace:
            return re.escape(text)
        return "".join(r"[ \t]+" if part.isspace() else re.escape(part) for part in re.split(r"([ \t]+)", text) if part)
