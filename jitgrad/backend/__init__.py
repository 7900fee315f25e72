"""From generated source to a Numba dispatcher.

==============  ===============================================================================
`dispatcher`    `Derivative`, a dispatcher whose body is generated for each tuple of argument types
`engine`        what the front end and the transforms generate for it
`checks`        whether the function can be differentiated as asked
`structure`     arguments by position, float leaves of types
`digest`        content hashes, the key of everything cached
`cache`         the disk cache
`linecode`      source text as functions that tracebacks can show
`writer`        the text of operations; `text` for lines out of order
==============  ===============================================================================
"""

from jitgrad.backend.dispatcher import Derivative, Transform, derivative

__all__ = ["Derivative", "Transform", "derivative"]
