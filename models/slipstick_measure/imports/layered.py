"""Layered activities from models of the layered queueing solver (LQNX): a caller holds its thread
while it waits for a reply.

Each reference task becomes processors that repeat a cycle, each other task permits, one for each of
its threads, held around its entry at every place that calls it, and each processor a station, or a
delay where it has infinite servers.

Source: lqn.xsd, version 5; Franks et al., IEEE TSE 35(2), 2009, 148-161 (what the elements mean).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slipstick_measure.imports.imported import ImportedSpec, quantity
from slipstick_measure.imports.queueing import MOST_DEPTH, ToolModel, XmlElement
from slipstick_measure.readers.reading import Reading

MOST_ITEMS = 2000
"""Steps of the cycles together: an entry is written out at every place that calls it."""

_REFUSED = {
    "semaphore": "a semaphore",
    "rwlock": "a reader-writer lock",
    "burst": "a source of bursts",
}
"""Schedulings of tasks that stand for something else than threads."""

Items = list[dict[str, Any]]


def lqn_spec(reading: Reading) -> ImportedSpec:
    """Read a layered queueing network as an activity; a demand is cut into slices before, between
    and after calls, as there.

    What an activity cannot express is taken otherwise and named: a second phase is part of the
    reply, priorities and other disciplines of processors are first come first served, numbers of
    calls vary less than geometric ones, requests without reply and copies are left out. Against
    printed results by simulation: throughput 2.5 to 5.6 % high where calls are made in two branches
    of a fork (45-activities), 21 % low where second phases are most of the work (90-A01).

    Raises
    ------
    SpecError : no such XML, a number that is none, calls in a circle, activities that are no
        nesting, or no callers
    """
    return LayeredModel(reading).activity()


class LayeredModel(ToolModel):
    """A layered queueing network while it is read."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self.parse()
        self._left_out: dict[str, int] = {}
        self._entries: dict[str, tuple[XmlElement, XmlElement, XmlElement]] = {}
        self._resources: dict[str, Any] = {}
        self._items = 0
        for processor in self.root.every("processor"):
            for task in processor.every("task"):
                self._check_task(task)
                for entry in task.every("entry"):
                    self._entries[entry.get("name")] = entry, task, processor

    def activity(self) -> ImportedSpec:
        """Return the activity: one cycle, or a group of processors for each of several reference
        tasks.
        """
        sources = [each for each in self._entries.values() if each[1].get("scheduling") == "ref"]
        groups = {each[1].get("name"): self._group(*each) for each in sources}
        arrivals = [each for each in self._entries.values() if each[0].get("open-arrival-rate")]
        if not groups and len(arrivals) == 1:
            name, task, _ = (each.get("name") for each in arrivals[0])
            rate = (
                self.number(arrivals[0][0], arrivals[0][0].get("open-arrival-rate"), 1e-12)
                / self.second
            )
            population = {
                "arrivals": quantity(rate, "/s", f"{self.reading.name}:{arrivals[0][0].line}")
            }
            told: dict[str, Any] = {"population": population}
            groups = {task: {"cycle": self._call(name, ())}}
        elif not groups:
            self.reading.refuse(
                1,
                "",
                "there is no reference task that calls others, nor one entry with open arrivals",
            )
        else:
            told = {"population": {"processors": next(iter(groups.values()))["processors"]}}
            for entry, _, _ in arrivals:
                self._leave_out("arrivals from outside", entry)
        if any(not group["cycle"] for group in groups.values()):
            self.reading.refuse(1, "", "a cycle without any time has no throughput")
        if len(groups) == 1:
            cycle = next(iter(groups.values()))["cycle"]
            told |= {
                "useful": sorted(_components(cycle) - {"think"}),
                "resources": self._resources,
                "cycle": cycle,
            }
        else:
            useful = set().union(*(_components(group["cycle"]) for group in groups.values())) - {
                "think"
            }
            named = {
                self.name(XmlElement("task", {"name": name}, 1)): group
                for name, group in groups.items()
            }
            told = {"useful": sorted(useful), "resources": self._resources}
            told["groups"] = {name.replace("-", "_"): group for name, group in named.items()}
        return self._said(
            ImportedSpec("activity", f"Layered model {self.reading.name}", self.reading.file, told)
        )

    def _said(self, spec: ImportedSpec) -> ImportedSpec:
        _number(spec.document)
        spec.document = {
            "activity": 1,
            "title": spec.title,
            "source": f"model {self.reading.name}",
            **spec.document,
        }
        if self.reading.hints.unit is None:
            spec.say(
                "times are taken as seconds, for the model has no unit; say another with --unit"
            )
        if self._left_out:
            listed = ", ".join(
                f"{what} (line {line})" for what, line in list(self._left_out.items())[:12]
            )
            spec.say(f"taken otherwise or left out: {listed}")
        return spec

    def _leave_out(self, what: str, element: XmlElement) -> None:
        self._left_out.setdefault(what, element.line)

    def _check_task(self, task: XmlElement) -> None:
        kind, name = task.get("scheduling"), task.get("name")
        if kind in _REFUSED:
            self.reading.refuse(
                task.line,
                "task",
                f"{name[:60]} is {_REFUSED[kind]}; write it as an activity by hand",
            )
        if kind in ("hol", "pri", "poll") or task.get("priority") not in ("", "0"):
            self._leave_out(f"priorities at {name[:60]}", task)
        if task.get("replication") not in ("", "1"):
            self._leave_out(f"copies of {name[:60]}", task)

    def _group(self, entry: XmlElement, task: XmlElement, processor: XmlElement) -> dict[str, Any]:
        """Return the processors of a reference task: they think, and go through its entry without
        holding a thread.
        """
        cycle: Items = []
        think = self.number(task, task.get("think-time") or "0")
        if think:
            cycle.append(
                {"name": "think", "delay": self.time(task, think), "scv": 1, "component": "think"}
            )
        many = round(self.number(task, task.get("multiplicity") or "1", 1.0))
        return {
            "processors": many,
            "cycle": cycle + self._body(entry, task, processor, (entry.get("name"),)),
        }

    def _call(self, name: str, open_: tuple[str, ...]) -> Items:
        """Return the items of one call of an entry: its body while a thread is held, then what it
        is forwarded to.
        """
        entry, task, processor = self._entries[name]
        if name in open_ or len(open_) > MOST_DEPTH:
            way = ", ".join(each[:60] for each in open_[:5])
            self.reading.refuse(entry.line, "entry", f"{name[:60]} calls itself, by way of {way}")
        items = self._body(entry, task, processor, (*open_, name))
        threads = self._multiplicity(task)
        if items and threads:
            called = self._name(f"{task.get('name')} threads")
            self._resources[called] = {"permits": threads}
            items = [{"hold": called, "body": items}]
        for onward in entry.every("forwarding"):
            after = self._call(self._destination(onward), (*open_, name))
            share = self.number(onward, onward.get("prob") or "1")
            items += [{"repeat": share, "body": after}] if after and share < 1 else after
        return items

    def _body(
        self, entry: XmlElement, task: XmlElement, processor: XmlElement, open_: tuple[str, ...]
    ) -> Items:
        """Return the items of an entry: its phases in order, or its activities from the one that
        is bound to it.
        """
        phases = [
            each
            for part in entry.every("entry-phase-activities")
            for each in part.every("activity")
        ]
        if phases:
            for each in phases:
                if each.get("phase") not in ("", "1") and task.get("scheduling") != "ref":
                    self._leave_out(
                        f"that phase {each.get('phase')[:9]}, {each.get('name')[:60]}, goes on"
                        " after the reply",
                        each,
                    )
            phases.sort(key=lambda each: each.get("phase") or "1")
            return [item for each in phases for item in self._slices(each, task, processor, open_)]
        graph = _Graph(self, task, lambda each: self._slices(each, task, processor, open_))
        return graph.from_entry(entry)

    def _slices(
        self, activity: XmlElement, task: XmlElement, processor: XmlElement, open_: tuple[str, ...]
    ) -> Items:
        """Cut the demand of an activity into equal slices, one more than there are calls, and
        put the calls between them.
        """
        calls = [
            (self.number(each, each.get("calls-mean") or "1"), each)
            for each in activity.every("synch-call")
        ]
        for each in activity.every("asynch-call"):
            self._leave_out(f"requests without reply of {activity.get('name')[:60]}", each)
        if activity.get("call-order").upper() != "DETERMINISTIC" and any(many for many, _ in calls):
            self._leave_out(
                "that numbers of calls are geometric, not a whole number and the chance of one"
                " more",
                activity,
            )
        demand = self.number(activity, activity.get("host-demand-mean") or "0")
        speed = self.number(processor, processor.get("speed-factor") or "1", 1e-12)
        slices = 1 + sum(many for many, _ in calls)
        step = self._step(activity, task, processor, demand / speed / slices, slices)
        found: Items = []
        if think := self.number(activity, activity.get("think-time") or "0"):
            found.append({"delay": self.time(activity, think), "scv": 1, "component": "think"})
        for many, call in calls:
            body = [*map(dict, step), *self._call(self._destination(call), open_)] if many else []
            found += [{"repeat": many, "body": body}] if body and many != 1 else body
        self._items += len(found) + 1
        if self._items > MOST_ITEMS:
            self.reading.refuse(
                activity.line,
                "activity",
                f"written out at each call, there are more than {MOST_ITEMS} steps; solve a part",
            )
        return found + step

    def _step(
        self,
        activity: XmlElement,
        task: XmlElement,
        processor: XmlElement,
        time: float,
        slices: float,
    ) -> Items:
        """Return one slice of the demand of an activity; nothing where it has none."""
        if time <= 0:
            return []
        scv = self.number(activity, activity.get("host-demand-cvsq") or "1")
        labels = {"scv": scv, "component": self.name(task)}
        name = self._name(activity.get("name") or "step")
        told = self.time(activity, time, f", one of {slices:g} slices" if slices > 1 else "")
        station = self._station(processor)
        what = {"service": station, "time": told} if station else {"delay": told}
        return [{"name": name, **what, **labels}]

    def _station(self, processor: XmlElement) -> str:
        """Return the station of a processor; nothing where it is a delay."""
        servers, kind = self._multiplicity(processor), processor.get("scheduling") or "fcfs"
        if not servers:
            return ""
        if kind not in ("ps", "fcfs"):
            self._leave_out(f"scheduling {kind[:20]} of {processor.get('name')[:60]}", processor)
        if processor.get("replication") not in ("", "1"):
            self._leave_out(f"copies of {processor.get('name')[:60]}", processor)
        name = self.name(processor)
        self._resources[name] = {"servers": servers, "discipline": "ps" if kind == "ps" else "fcfs"}
        return name

    def _multiplicity(self, element: XmlElement) -> int:
        """Return the servers of a processor, or the threads of a task; 0 where there are as many
        as are asked for.
        """
        many = element.get("multiplicity") or "1"
        if element.get("scheduling") == "inf" or many.lower() in (
            "inf",
            "infinite",
            "@infinity",
            "*",
        ):
            return 0
        return round(self.number(element, many, 1.0))

    def _destination(self, call: XmlElement) -> str:
        if call.get("dest") not in self._entries:
            self.reading.refuse(call.line, call.tag, f"there is no entry {call.get('dest')[:60]}")
        return call.get("dest")

    def _name(self, written: str) -> str:
        return self.name(XmlElement("activity", {"name": written}, 1))


class _Graph:
    """The activities of a task, told by what comes after what, as a nesting of sequences,
    choices, forks and loops.
    """

    def __init__(self, model: LayeredModel, task: XmlElement, items_of: Any) -> None:
        self._model, self._task, self._items_of = model, task, items_of
        parts = [
            each
            for part in task.children
            if part.tag == "task-activities"
            for each in part.children
        ]
        self._activities = {each.get("name"): each for each in parts if each.tag == "activity"}
        self._after: dict[str, tuple[XmlElement, XmlElement]] = {}
        for precedence in parts:
            befores = [each for each in precedence.children if each.tag.startswith("pre")]
            afters = [each for each in precedence.children if each.tag.startswith("post")]
            for each in (each for before in befores if afters for each in before.every("activity")):
                self._after[each.get("name")] = befores[0], afters[0]

    def from_entry(self, entry: XmlElement) -> Items:
        """Return the items from the activity that is bound to an entry; nothing where there is
        none.
        """
        first = [
            each
            for each in self._activities.values()
            if each.get("bound-to-entry") == entry.get("name")
        ]
        items, join = self._from(first[0].get("name"), 0) if first else ([], None)
        if join is not None:
            self._refuse(join)
        return items

    def _refuse(self, element: XmlElement) -> Any:
        name = self._task.get("name")[:60]
        self._model.reading.refuse(
            element.line,
            element.tag,
            f"the activities of {name} are no nesting of sequences, choices, forks and loops",
        )

    def _from(self, name: str, depth: int) -> tuple[Items, XmlElement | None]:
        """Return the items from an activity on, and the join at which they stop."""
        items: Items = []
        while True:
            if name not in self._activities or depth > MOST_DEPTH or len(items) > MOST_ITEMS:
                self._refuse(self._task)
            items += self._items_of(self._activities[name])
            before, after = self._after.get(name, (None, None))
            if before is None or after is None:
                return items, None
            if before.tag != "pre":
                return items, before
            targets = list(after.every("activity"))
            join = None
            if after.tag == "post-LOOP":
                for each in targets:
                    inside, end = self._from(each.get("name"), depth + 1)
                    many = self._model.number(each, each.get("count") or "1")
                    if end is not None:
                        self._refuse(after)
                    items += [{"repeat": many, "body": inside}] if inside and many else []
                name = after.get("end")
                if not name:
                    return items, None
                continue
            if after.tag == "post":
                name = targets[0].get("name") if targets else ""
                continue
            branches = [self._from(each.get("name"), depth + 1) for each in targets]
            join = self._joined([end for _, end in branches], after)
            items += self._branches(after, targets, [inside for inside, _ in branches])
            onward = join and next(
                after for before, after in self._after.values() if before is join
            )
            if not onward:
                return items, None
            name = next((each.get("name") for each in onward.every("activity")), "")

    def _joined(self, ends: list[XmlElement | None], after: XmlElement) -> XmlElement | None:
        """Return the join of all branches: of a fork they all arrive there; of a choice they may
        end, with a reply, instead.
        """
        joins = {id(each): each for each in ends}
        wanted = {"post-AND": "pre-AND", "post-OR": "pre-OR"}.get(after.tag)
        found = [each for each in joins.values() if each is not None]
        mixed = len(joins) > 1
        if (
            wanted is None
            or mixed
            or any(each.tag != wanted or each.get("quorum") not in ("", "0") for each in found)
        ):
            self._refuse(found[0] if found else after)
        return found[0] if found else None

    def _branches(self, after: XmlElement, targets: list[XmlElement], inside: list[Items]) -> Items:
        if after.tag == "post-AND":
            inside = [each for each in inside if each]
            return [{"fork": inside}] if inside else []
        shares = [self._model.number(each, each.get("prob") or "0") for each in targets]
        if abs(sum(shares) - 1) > 1e-6:
            self._model.reading.refuse(
                after.line, after.tag, f"the probabilities add up to {sum(shares):g}, not to 1"
            )
        shares[-1] = 1 - sum(shares[:-1])
        return [{"choose": [{"p": p, "do": do} for p, do in zip(shares, inside, strict=True)]}]


def _tables(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every table of plain data, from the outside in."""
    if isinstance(tree, dict):
        yield tree
    for each in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _tables(each)


def _components(items: Items) -> set[str]:
    """Return the components that steps are booked to."""
    return {each["component"] for each in _tables(items) if "component" in each}


def _number(document: dict[str, Any]) -> None:
    """Give each step a name of its own, for an entry is written out wherever it is called; the
    first keeps its name.
    """
    taken: set[str] = set()
    for each in _tables(document):
        if "component" in each and "name" in each:
            name, number = each["name"], 1
            while each["name"] in taken:
                number += 1
                each["name"] = f"{name}-{number}"
            taken.add(each["name"])
