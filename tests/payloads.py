"""Text that would run code if anything executed it: for names, keys, values and formulas alike.

Each payload has a ``{marker}`` to fill with a path by `str.format`; whoever executes it creates
that file. Braces of the payloads' own are doubled, so filling by `str.replace` leaves hostile text,
too.
"""

from __future__ import annotations

__all__ = ["PAYLOADS"]

PAYLOADS: tuple[str, ...] = (
    # calls
    "__import__('os').system('touch {marker}')",
    "__import__('pathlib').Path('{marker}').touch()",
    "open('{marker}', 'w')",
    "open('{marker}', 'w').close()",
    "eval(\"open('{marker}', 'w')\")",
    "exec(\"open('{marker}', 'w')\")",
    "eval(compile(\"open('{marker}', 'w')\", 'x', 'eval'))",
    "getattr(__builtins__, 'open')('{marker}', 'w')",
    "globals()['__builtins__'].open('{marker}', 'w')",
    "breakpoint(__import__('os').system('touch {marker}'))",
    "1 + __import__('os').system('touch {marker}')",
    "max(1, __import__('os').system('touch {marker}'))",
    # attribute walks
    (
        "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen'][0](['touch',"
        " '{marker}'])"
    ),
    (
        "[c for c in (1).__class__.__mro__[1].__subclasses__() if '_wrap_close' in repr(c)]"
        "[0].__init__.__globals__['system']('touch {marker}')"
    ),
    "parts.__class__.__init__.__globals__['__builtins__']['open']('{marker}', 'w')",
    "parts.func.__globals__['open']('{marker}', 'w')",
    # an undefined function of a string: what sympify reads again with every name it has
    "f(\"open('{marker}', 'w')\")",
    "Function('f')(\"open('{marker}', 'w')\")",
    "Symbol('x').subs('x', \"open('{marker}', 'w')\")",
    # forms of the language
    "(lambda: open('{marker}', 'w'))()",
    "[open(p, 'w') for p in ['{marker}']]",
    "{{open('{marker}', 'w') for p in (1,)}}",
    "f\"{{open('{marker}', 'w')}}\"",
    "(parts := open('{marker}', 'w'))",
    "[open('{marker}', 'w')][0]",
    "open('{marker}', 'w') if 1 else 0",
    "1 if open('{marker}', 'w') else 0",
    "parts < open('{marker}', 'w').fileno()",
    "'{marker}'.__class__.format('{{0.__class__}}', open('{marker}', 'w'))",
    "import os; os.system('touch {marker}')",
    "parts; open('{marker}', 'w')",
    "parts\nopen('{marker}', 'w')",
    # other readers: the shell, YAML, the browser
    "$(touch {marker})`touch {marker}`; touch {marker}",
    "!!python/object/apply:os.system ['touch {marker}']",
    "</script><script>require('fs').writeFileSync('{marker}', '')</script>",
)
