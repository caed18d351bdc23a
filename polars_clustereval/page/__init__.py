"""The pages that the command ``report`` writes about one or more clusterings.

``findings`` computes the content from the reports of the command line, ``pictures`` draws the
charts, and ``html`` (with ``template.html``) or ``markdown`` writes the page. ``cli.commands``
imports this folder only when the user asks for a page.
"""

from __future__ import annotations

from .findings import make_findings
from .html import write_html, write_partitions_html
from .markdown import write_markdown, write_partitions_markdown
from .partitions import list_clusterings, make_clusterings, make_partitions
from .pictures import draw_pictures

__all__ = [
    "draw_pictures",
    "list_clusterings",
    "make_clusterings",
    "make_findings",
    "make_partitions",
    "write_html",
    "write_markdown",
    "write_partitions_html",
    "write_partitions_markdown",
]
