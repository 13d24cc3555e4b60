"""The package of the folder `training`, under the name by which it is installed and imported.

Many projects have a folder or package `training`; none is called so. A wheel has the modules themselves at this place.
"""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent.parent / "training"
_SPEC = spec_from_file_location(__name__, _FOLDER / "__init__.py", submodule_search_locations=[str(_FOLDER)])
assert _SPEC is not None
assert _SPEC.loader is not None
sys.modules[__name__] = module_from_spec(_SPEC)
_SPEC.loader.exec_module(sys.modules[__name__])
