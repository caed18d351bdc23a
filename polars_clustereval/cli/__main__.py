"""Entry point of ``python -m polars_clustereval.cli``, which is the same as ``clustereval``."""

import sys

from . import main

sys.exit(main())
