"""slipstick: a performance-model calculator for parallel systems.

A model is a machine, a workload and how they are used. slipstick computes how long it takes, where
the processors' time goes, what limits it and which change would help most.

>>> from slipstick import closed_model, delay, hold, service, solve
>>> cycle = delay(9e-3, name="work") >> hold(
...     "table", service("bus", 1e-3, name="update", component="lock")
... )
>>> answer = solve(closed_model(cycle, processors=8))
>>> answer["efficiency"], answer.account
(0.9, {'busy': 0.009, 'lock': 0.001})

Why this shape: data flow one way, model -> method -> answer -> report, and every package says in
its first line what it is. `expression` lies below `law` and `model`, which both use it; `answer`
and `results` are what `method` and `study` hand to `report`, which cannot compute. The public names
stand in the stub ``__init__.pyi``, where type checkers and editors read them; a name is imported
when it is first used, so that ``import slipstick`` and the command line start without NumPy.
"""

FUNCTIONS = {
    "tables of an answer": "slipstick.report.answer:answer_tables",
    "head of a study": "slipstick.report.head:head_lines",
    "report of a study": "slipstick.report.write:report_of",
    "text of an answer": "slipstick.report.answer:answer_text",
    "text of a sweep": "slipstick.report.answer:sweep_text",
}

__version__ = "0.1.0"


def _module_by_public_name() -> dict[str, str]:
    """Return the module of each public name, from the stub, whose lines are ``from MODULE import
    NAME as NAME``.
    """
    with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as stub:
        # Type checkers need the stub anyway, so the list of names has one place.
        lines = [line.split() for line in stub if line.startswith("from ")]
    return {name: module for _, module, _, _, _, name in lines}


def __dir__() -> list[str]:
    return sorted({*globals(), *_module_by_public_name()})


def __getattr__(name: str) -> object:
    # Not above: the command line must handle interrupts before a module is read from a file.
    from importlib import import_module

    module_by_name = _module_by_public_name()
    if name == "__all__":
        return list(module_by_name)
    if name not in module_by_name:
        from slipstick.errors import did_you_mean

        raise AttributeError(
            "module 'slipstick' has no attribute"
            f" {name!r}{did_you_mean(name, list(module_by_name))}"
        )
    # Kept, so that this function is called once for each name.
    globals()[name] = value = getattr(import_module(module_by_name[name]), name)
    return value
