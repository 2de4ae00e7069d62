# SPDX-License-Identifier: GPL-2.0-or-later
"""The Markdown that docs/ uses, as a manual page: headings, paragraphs, lists, tables, code."""
import re

WIDE = 5  # columns


def escape(text):
    """Minus signs that can be copied, and no line taken for a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def inline(text):
    """`code` and **strong** in bold, *stress* in italics; a link keeps its text."""
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    out = ""
    for p in re.split(r"(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)", text):
        if p[:1] == "`":
            out += f"\\fB{escape(p[1:-1])}\\fR"
        elif p[:2] == "**":
            out += f"\\fB{escape(p[2:-2])}\\fR"
        elif p[:1] == "*" and len(p) > 2:
            out += f"\\fI{escape(p[1:-1])}\\fR"
        else:
            out += escape(p)
    return out


def paragraph(lines):
    return inline(" ".join(line.strip() for line in lines)) + "\n"


def table(lines):
    """A list of names and what they are; figures in many columns stay as they stand in the source."""
    rows = [[c.strip().replace("\0", "|") for c in line.replace("\\|", "\0").strip().strip("|").split("|")]
            for line in lines if not re.fullmatch(r"[|:\- ]+", line.strip())]
    width = max(map(len, rows))
    if width >= WIDE:
        return ".PP\n.nf\n" + "".join(escape(line) + "\n" for line in lines) + ".fi\n"
    heads = [""] + [f"{h}: " if width > 2 and h else "" for h in rows[0][1:]]
    out = ""
    for row in rows[1:]:
        cells = [heads[i] + inline(c) for i, c in enumerate(row) if i and c]
        out += f".TP\n{inline(row[0])}\n" + "\n.br\n".join(cells or ["\\&"]) + "\n"
    return out + ".PP\n"


def item(lines, mark):
    return f'.IP "{mark}" 4\n' + paragraph([re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", lines[0]), *lines[1:]])


def convert(text):
    """Everything behind the first heading, which is the page's name."""
    out, block, lines = [], [], text.split("\n")[1:] + [""]

    def flush():
        if not block:
            return
        first = block[0].lstrip()
        number = re.match(r"(\d+\.)\s", first)
        if first.startswith("|"):
            out.append(table(block))
        elif first.startswith(("- ", "* ")):
            out.append(item(block, "\\(bu"))
        elif number:
            out.append(item(block, number.group(1)))
        else:
            out.append(".PP\n" + paragraph(block))
        block.clear()

    fence = None
    for line in lines:
        if line.startswith("```"):
            flush()
            if fence is None:
                fence = []
            else:
                out.append(".PP\n.nf\n" + "".join(escape(f) + "\n" for f in fence) + ".fi\n")
                fence = None
        elif fence is not None:
            fence.append(line)
        elif re.match(r"#+ ", line):
            flush()
            level, title = re.match(r"(#+) (?:\d+\. )?(.*)", line).groups()
            out.append(f".S{'H' if len(level) == 2 else 'S'} {inline(title)}\n")
        elif not line.strip():
            flush()
        elif re.match(r"\s*(?:[-*]|\d+\.)\s", line) or (block and line.startswith("|") != block[0].startswith("|")):
            flush()
            block.append(line)
        else:
            block.append(line)
    return "".join(out)
