"""Trees rebuilt with other steps: one way through an activity for all who change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from slipstick.model.activity import Activity, Choice, Fork, Hold, Pipeline, Repeat, Stage, Step, Then

__all__ = ["mapped", "relabelled"]


def mapped(
    activity: Activity,
    change: Callable[[Step], Step],
    rename: Callable[[str], str] = lambda name: name,
    known: dict[int, Activity] | None = None,
) -> Activity:
    """Rebuild a tree with each step changed; what it shares stays shared.

    Parameters
    ----------
    activity : the tree
    change : gives the new step for an old one
    rename : gives the new name of a pipeline
    known : what was rebuilt already, by identity, for trees that share parts
    """
    known = {} if known is None else known

    def again(part: Activity) -> Activity:
        if id(part) not in known:
            known[id(part)] = _rebuilt(part, change, rename, again)
        return known[id(part)]

    return again(activity)


def _rebuilt(
    activity: Activity,
    change: Callable[[Step], Step],
    rename: Callable[[str], str],
    again: Callable[[Activity], Activity],
) -> Activity:
    match activity:
        case Step():
            return change(activity)
        case Then(parts):
            return Then(tuple(map(again, parts)))
        case Fork(branches):
            return Fork(tuple(map(again, branches)))
        case Choice(options):
            return Choice(tuple((p, again(body)) for p, body in options))
        case Repeat(count, body):
            return Repeat(count, again(body))
        case Hold(lock, body):
            return Hold(lock, again(body))
        case Pipeline(stages, items, name):
            made = tuple(Stage(each.kind, tuple(map(again, each.bodies)), each.name) for each in stages)
            return Pipeline(made, items, rename(name))
        case _:
            return activity


def relabelled(activity: Activity, prefix: str, component: str | None = None, queues: bool = True) -> Activity:
    """Give the steps and pipelines of a tree names of their own, so that it can stand beside others of its kind.

    Parameters
    ----------
    activity : the tree
    prefix : put before each name
    component : what all of it is booked to; None keeps what it is
    queues : keep the resources; else every step is a delay

    >>> from slipstick.model.activity import service
    >>> relabelled(service("bus", 2.0, name="ask"), "read.", component="memory")
    service('bus', 2.0, name='read.ask', component='memory')
    """

    def change(step: Step) -> Step:
        return replace(
            step,
            name=prefix + step.name,
            component=step.component if component is None else component,
            resource=step.resource if queues else None,
        )

    return mapped(activity, change, lambda name: prefix + name)
