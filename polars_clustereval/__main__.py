"""Entry point of ``python -m polars_clustereval``, which is the same as ``clustereval``."""

import sys

from .cli import main

sys.exit(main())
