"""The words of a study for a reader: titles of cases, meanings of quantities, and values and
conditions as phrases, none of which has a path.

What an author wrote comes first: `title` of a case, `meaning` of a quantity, `called` of a
population. Without them the words are made from names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from slipstick.late import dataclass, field, late_pattern

_PHRASES_OF_VALUES = {
    "time": "time of {}",
    "speedup": "speed-up",
    "time_until": "time until {}",
    "utilization": "utilization of {}",
    "useful_utilization": "utilization of {} by services that end",
    "wasted_utilization": "utilization of {} by services that are given up",
    "queue_length": "number at {}",
    "residence_time": "residence time at {}",
    "waiting_time": "waiting time at {}",
    "within_target": "responses within the target time of {}",
    "account": "time of {}",
    "step": "time of {}",
    "technology": "time of {}",
    "phase_time": "time to the end of the phase {}",
    "time_per_unit": "time of a unit of the phase {}",
    "amount": "{}",
    "unit_rate": "units of the phase {} per time",
    "rate": "requests of a processor in a cycle",
    "through": "requests served in a cycle",
}
"""Kinds of values as phrases; another kind is its own words, followed by ``of`` and its label."""

_PHRASES_OF_CLASS_VALUES = {
    "utilization": "utilization of {station} by {customers}",
    "queue_length": "number of {customers} at {station}",
    "phase_account": "time of {station} in the phase {customers}",
}
"""Kinds of values of a class at a station; another kind is its words ``of`` one ``at`` the
other.
"""

_PHRASES_OF_NUMBER_VALUES = {
    "probability": "probability of {customers} at {station}",
    "time_until": "time until {customers} {are} at {station}",
}
"""Kinds of values of a number of customers at a station."""

_VALUE_AT_A_TIME = late_pattern(r"(queue_length|probability)_at\[(.+),([^,]+)\]")

_ENDING_PHRASES = {
    "time_quantile": "cycles of {} end",
    "phase_time_quantile": "customers end the phase {}",
    "time_per_unit_quantile": "customers end a unit of the phase {}",
}
"""What customers do within a quantile, by its kind; of other kinds they are answered, or runs
end."""

_PHRASES_OF_WAITS = {
    "wait": "waiting for {}",
    "lock": 'waiting for the lock "{}"',
    "barrier": 'waiting at the barrier "{}"',
    "entry": 'waiting to enter the monitor "{}"',
    "monitor": 'work inside the monitor "{}"',
    "back off": "pauses before another try at {}",
    "given up": "services at {} that are given up",
}
_PHRASES_OF_COMPONENTS = {"busy": "useful work", "idle": "idle time", "think": "thinking"}

_TITLES_OF_LABELS = {
    "tas": "test-and-set",
    "nat": "NAT",
    "mcs": "MCS",
    "back-off": "exponential back-off",
    "constant-back-off": "constant back-off",
    "fifo": "first in, first out",
    "lifo": "last in, first out",
}
"""What an axis of names takes, such as locks, as a reader writes it."""

_PHRASES_OF_KEYS = {
    "servers": "{} servers",
    "permits": "permits of {}",
    "arrivals": "arrivals of {}",
    "population": "number of {}",
    "count": "number of {}",
    "per_byte": "time of a byte on the {}",
    "fixed": "cost of a message by the {}",
    "speed": "speed of the {}",
    "adapter": "latency of the {} adapter",
    "switch": "latency of a {} switch",
}
"""Last keys of paths as phrases about the part that they belong to."""

_CLASS_AT_STATION_PATH = late_pattern(r"stations\.([^.]+)\.([^.]+)\.([^.]+)")
_PHRASES_AT_STATIONS = {
    "service": "service time of {} at {}",
    "demand": "service demand of {} at {}",
    "visits": "visits of {} to {}",
}
"""Quantities of a class at a station as phrases, by their key."""

_SILENT_FIRST_KEYS = (
    "parameters",
    "resources",
    "stations",
    "classes",
    "machine",
    "population",
    "cycle",
)
"""First keys of paths that say nothing to a reader."""

_FIRST_KEYS = (*_SILENT_FIRST_KEYS, "technology", "simulation", "fitted")

_SILENT_INNER_KEYS = ("total", "body", "do")
"""Keys inside a path that say nothing to a reader."""

SHARES = (
    *("efficiency", "utilization", "loss_probability", "abandonment", "grain_efficiency"),
    *("within_target", "open_share", "refused_share", "useful_utilization", "wasted_utilization"),
)
"""Kinds of values that a reader expects in percent."""

KNOWN_KEYS = tuple(_PHRASES_OF_KEYS)
"""Last keys of paths that have a phrase here."""

_RELATION_PHRASES = {
    "<=": "is at most",
    ">=": "is at least",
    "<": "is less than",
    ">": "is more than",
}
ONE_VALUE = r"[a-z_]+(?:\[[^\]]*\])?"
"""A value of an answer, as it is written in conditions."""

# Quantifiers with a plus behind them give nothing back: without them the time of a search could
# grow with the square of a user's text. A path has the names of keys alone; a name behind one dot
# may also be a value of a case.
_TERM = late_pattern(
    rf"(?<![\w-])(?:(?P<path>[A-Za-z_][\w-]*+(?:\.[\w-]++){{2,}}+(?!\[))"
    rf"|(?P<case>[A-Za-z][\w-]*+)\.(?P<of>{ONE_VALUE})|(?P<value>{ONE_VALUE}))"
    r"|(?P<operator>[-+*/](?= )|(?<=[\w\])])\*(?=[\w(]))"
)
_COMPARISON = late_pattern(
    rf"({ONE_VALUE})\s*+(<=|>=|<|>)\s*+([\d.eE+-]++)\s*+([A-Za-z%/][\w/%]*)?"
)
CLASS_TITLES: Mapping[str, str] = {
    "application": "computation",
    "software": "run-time software",
    "system": "system calls",
    "protocol": "protocol software",
    "signal": "signals",
    "adapter": "network adapters",
    "switch": "switches",
    "wire": "the wire",
    "memory": "memory traffic",
    "memory_latency": "waiting for memory",
    "storage": "storage",
    "storage_latency": "waiting for storage",
    "waiting": "waiting",
}
"""Classes of cost in the words of a sentence."""

_TECHNOLOGY_PHRASES = {
    "processors": "gain of processors",
    "benefit": "part of the processors' gain that software realizes",
}
"""What a technology has beside a factor on the time of each class."""

_TECHNOLOGY_PATH = late_pattern(r"(?:.*\.)?technology\.(\w+)")

_OPERATOR_WORDS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}


CODES = re.compile(r"(?:^|; )(\d+): ([^;]+)")
"""What each number of a quantity means, where it chooses a mode."""

_POPULATION_PATH = "population.processors"  # whatever its members are called
TIME_SPANS = {"/s": "a second", "/min": "a minute", "/h": "an hour"}
"""The words behind a number of completions or arrivals, by the unit of the rate."""


def as_words(name: str) -> str:
    """Write a name as words, with blanks for its hyphens and underscores.

    >>> as_words("half-as-long"), as_words("items_per_page"), as_words("only-1997")
    ('half as long', 'items per page', 'only 1997')
    """
    return re.sub(r"(?<=[A-Za-z])-(?=[A-Za-z]|(?:19|20)\d\d\b)|_", " ", name)


def is_plural(noun: str) -> bool:
    """Return whether a noun looks like a plural, such as ``agents``; ``bus`` and ``access`` do
    not.
    """
    return len(noun) > 3 and noun.endswith("s") and not noun.endswith("ss")


_AFTER_NOUN = late_pattern(
    r"\s(?:of|in|on|at|for|by|per|that|which|along|from|with|after|before)\s"
)
"""What stands between the noun of a meaning and what describes it."""


def noun_and_rest(meaning: str) -> tuple[str, str]:
    """Split the meaning of a quantity into its noun and what describes it.

    >>> noun_and_rest("grid points of the model"), noun_and_rest("users a server can hold")
    (('grid points', ' of the model'), ('users', ' a server can hold'))
    """
    first_word = meaning.partition(" ")[0]
    separator = _AFTER_NOUN.search(meaning)
    noun = meaning[: separator.start()] if separator else meaning
    noun = first_word if is_plural(first_word) and not is_plural(noun) else noun
    return noun, meaning[len(noun) :]


def singular(noun: str) -> str:
    """Return the singular of a noun that looks like a plural; empty for others.

    >>> singular("requests"), singular("queries"), singular("searches"), singular("gold")
    ('request', 'query', 'search', '')
    """
    if not is_plural(noun):
        return ""
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-2] if noun.endswith(("sses", "xes", "nches", "rches", "tches")) else noun[:-1]


@dataclass(frozen=True, slots=True)
class Words:
    """The phrases by which a report calls the cases, quantities and values of a study.

    Parameters
    ----------
    titles : of all cases, by name; empty for a case without a title
    meanings : of quantities, by path, and of values, by name
    member : what one of the population is, such as a thread
    limits : of values that a question sets a limit to, by name, in base units
    nouns : what resources are, such as a lock, by name
    title : of the study
    specs : titles of the machines that an axis takes, by name
    as_given : how the values of a case are called that no question varies

    >>> words = Words({"ndr": "NDR"}, {"parameters.edge": "cells along an edge"})
    >>> words.case("ndr"), words.case("half-as-long"), words.quantity("parameters.edge")
    ('NDR', 'half as long', 'cells along an edge')
    >>> words.quantity("stations.app.servers"), words.quantity("machine.network.adapter")
    ('app servers', 'latency of the network adapter')
    >>> (
    ...     words.quantity("stations.db.service.requests"),
    ...     words.quantity("stations.db.visits.requests"),
    ... )
    ('service time of requests at db', 'visits of requests to db')
    >>> words.quantity("stations.server.servers"), words.quantity("resources.pool.permits")
    ('servers', 'permits of pool')
    >>> words.quantity("technology.processors"), words.quantity("technology.wire")
    ('gain of processors', 'time of the wire')
    >>> words.value("utilization[db]"), words.component_phrase("lock:table")
    ('utilization of db', 'waiting for the lock "table"')
    >>> (
    ...     words.quantity("stations.agents.servers"),
    ...     Words(member="client").quantity("population.processors"),
    ... )
    ('number of agents', 'clients')
    >>> words.value("time_until[door,10]"), words.value("probability_at[door,1,5]")
    ('time until 10 customers are at door', 'probability of 1 customer at door after 5 s')
    >>> words.value("time_until[door,0]")
    'time until door is empty'
    >>> words.value("waiting_time[messages,queue]"), words.value("queue_length[messages,queue]")
    ('waiting time of messages at queue', 'number of messages at queue')
    >>> words.condition("response_time_quantile[requests,0.99] <= 300 ms and efficiency >= 0.8")
    '99 % of requests are answered within 300 ms and efficiency is at least 80 %'
    >>> words.condition("efficiency >= 0.5 * own.efficiency")
    'efficiency is at least 0.5 times the efficiency as given'
    >>> (
    ...     words.value_with_amount("phase_time_quantile[prompt,0.95]", "34 ms"),
    ...     words.value("time[gold]"),
    ... )
    ('95 % of customers end the phase prompt within 34 ms', 'time of gold')
    >>> tokens = Words(meanings={"phase_time_quantile[prompt]": "customers get their first token"})
    >>> tokens.condition("phase_time_quantile[prompt,0.95] <= 1 s")
    '95 % of customers get their first token within 1 s'
    >>> called = Words(meanings={"phase_time_quantile[prompt,0.95]": "time of 95 first tokens"})
    >>> called.condition("phase_time_quantile[prompt,0.95] <= 1 s")
    'time of 95 first tokens is at most 1 s'
    >>> words.value_clause("time[gold]", "3 s"), words.value_clause("processors_lost[lock]", "2")
    ('the time of gold is 3 s', 'the processors lost to lock are 2')
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    member: str = "processor"
    limits: Mapping[str, float] = field(default_factory=dict)
    nouns: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    specs: Mapping[str, str] = field(default_factory=dict)
    as_given: str = "as given"

    def case_as_given(self, name: str) -> str:
        """Return the title of a case with the remark that no question varies its values, unless
        the title says so.

        >>> Words({"base": "Today"}).case_as_given("base")
        'Today as given'
        >>> Words({"base": "As today"}).case_as_given("base")
        'As today'
        """
        title = self.case(name)
        has_remark = title.lower().startswith("as ") or title.endswith(self.as_given)
        return title if has_remark else f"{title} {self.as_given}"

    def case(self, name: str) -> str:
        """Return the title of a case, or its name in words."""
        return self.titles.get(name) or as_words(name)

    @property
    def has_several_cases(self) -> bool:
        """Return whether a sentence on one case must name it."""
        return len(self.titles) > 1

    def axis_value_title(self, name: str) -> str:
        """Return the name under which a report shows a value of an axis: the title of a spec, or
        the value itself.

        >>> (
        ...     Words(specs={"ksr-1": "KSR-1"}).axis_value_title("ksr-1"),
        ...     Words().axis_value_title("mcs"),
        ...     Words().axis_value_title("tree"),
        ... )
        ('KSR-1', 'MCS', 'tree')
        """
        return self.specs.get(name) or _TITLES_OF_LABELS.get(name, name)

    def quantity(self, path: str) -> str:
        """Return the meaning of a quantity, or a phrase made from its path."""
        if meaning := self.meanings.get(path):
            # What each number means is no name of the quantity.
            return as_words(path.rpartition(".")[2]) if CODES.match(meaning) else meaning
        if path == _POPULATION_PATH:
            return self.members
        if class_match := _CLASS_AT_STATION_PATH.fullmatch(path):
            station_name, key, class_name = map(as_words, class_match.groups())
            phrase = _PHRASES_AT_STATIONS.get(key, f"{key} of {{}} at {{}}")
            return phrase.format(class_name, station_name)
        # The name of a range is a label for the program; the quantity is the same in all ranges.
        keys = re.sub(r"\.ranges\.[^.]+", "", path).split(".")
        keys = [key for key in keys if key not in _SILENT_INNER_KEYS and not key.isdigit()]
        keys = keys[1:] if len(keys) > 1 and keys[0] in _SILENT_FIRST_KEYS else keys
        last_key = keys[-1]
        owner = keys[-2] if len(keys) > 1 else ""
        if owner == "technology":
            time_phrase = f"time of {CLASS_TITLES.get(last_key, as_words(last_key))}"
            return _TECHNOLOGY_PHRASES.get(last_key, time_phrase)
        if owner and last_key in _PHRASES_OF_KEYS:
            # A part that is named after its quantity, such as ``server.servers``, is said once.
            if owner in (last_key, last_key[:-1]):
                return as_words(last_key)
            both_plural = last_key == "servers" and is_plural(owner)
            return ("number of {}" if both_plural else _PHRASES_OF_KEYS[last_key]).format(
                as_words(owner)
            )
        return as_words(last_key) if not owner else f"{as_words(last_key)} of {as_words(owner)}"

    def is_factor_on_time(self, path: str) -> bool:
        """Return whether a quantity is the factor of a technology on the time of a class, which a
        reader is given as a share of the present time.

        >>> [Words().is_factor_on_time(f"technology.{key}") for key in ("wire", "processors")]
        [True, False]
        """
        factor_match = _TECHNOLOGY_PATH.fullmatch(path)
        return bool(
            factor_match
            and factor_match[1] not in _TECHNOLOGY_PHRASES
            and path not in self.meanings
        )

    def quantity_with_value(self, path: str, value: str) -> str:
        """Return a phrase for a quantity with its value, such as ``16 processors`` or ``hold 3
        ms``.

        >>> words = Words()
        >>> (
        ...     words.quantity_with_value("parameters.processors", "16"),
        ...     words.quantity_with_value("processors", "1"),
        ... )
        ('16 processors', '1 processor')
        >>> (
        ...     words.quantity_with_value("hold", "3 ms"),
        ...     words.quantity_with_value("resources.threads.permits", "4"),
        ... )
        ('hold 3 ms', '4 permits of threads')
        """
        quantity = self.quantity(path).removeprefix("number of ")
        first_word, _, other_words = quantity.partition(" ")
        if not (value.isdigit() and (is_plural(first_word) or is_plural(quantity))):
            return f"{quantity} {value}"
        if value != "1":
            return f"{value} {quantity}"
        return f"1 {first_word.removesuffix('s')} {other_words}".rstrip()

    def change(self, change_text: str, path: str) -> str:
        """Return a phrase for the change of a quantity, such as ``half the memory`` or ``10 % fewer
        nodes``.

        >>> Words().change("half", "memory"), Words().change("10 % less", "number of nodes")
        ('half the memory', '10 % fewer nodes')
        """
        quantity = self.quantity(path)
        if not change_text.endswith(("less", "more")):
            return f"{change_text} the {quantity}"
        counted_noun = quantity.removeprefix("number of ")
        # English has "less memory" but "fewer servers".
        is_count = counted_noun != quantity or is_plural(quantity.partition(" ")[0])
        return f"{change_text.replace('less', 'fewer') if is_count else change_text} {counted_noun}"

    def resource(self, name: str) -> str:
        """Return the name of a resource with its noun, such as ``the lock "table"``."""
        noun = self.nouns.get(name, "").removeprefix("a ").removeprefix("an ")
        return f'the {noun} "{as_words(name)}"' if noun else as_words(name)

    def member_count(self, number: float) -> str:
        """Return a number of members of the population, with their noun."""
        return f"{number:g} {self.member if number == 1 else self.members}"

    @property
    def members(self) -> str:
        """The noun of several members of the population."""
        return f"{self.member}es" if self.member.endswith(("s", "x")) else f"{self.member}s"

    def value(self, name: str) -> str:
        """Return a phrase for a value of an answer, such as ``utilization of db``."""
        if meaning := self.meanings.get(name):
            return meaning
        value_kind, _, label_end = name.partition("[")
        label_text = label_end.removesuffix("]")
        if value_kind.endswith("_quantile"):
            return f"time within which {self._quantile_clause(value_kind, label_text)}"
        if value_kind in ("account", "step", "technology"):
            return _PHRASES_OF_VALUES[value_kind].format(self.component_phrase(label_text))
        if value_kind == "processors_lost":
            return f"{self.members} lost to {self.component_phrase(label_text)}"
        if time_match := _VALUE_AT_A_TIME.fullmatch(name):
            steady_name = f"{time_match[1]}[{time_match[2]}]"
            time_text = time_match[3]
            time_phrase = (
                self.quantity(time_text) if time_text.startswith("parameters.") else time_text
            )
            unit = "" if time_phrase[-1].isalpha() else " s"
            return f"{self.value(steady_name)} after {time_phrase}{unit}"
        first_label, comma, second_label = label_text.partition(",")
        if comma and (value_kind, second_label) == ("time_until", "0"):
            return f"time until {as_words(first_label)} is empty"
        if comma and value_kind in _PHRASES_OF_NUMBER_VALUES:
            customers_text, verb = (
                (f"{second_label} customers", "are")
                if second_label != "1"
                else ("1 customer", "is")
            )
            return _PHRASES_OF_NUMBER_VALUES[value_kind].format(
                customers=customers_text, are=verb, station=as_words(first_label)
            )
        if comma:
            phrase = _PHRASES_OF_CLASS_VALUES.get(
                value_kind, f"{as_words(value_kind)} of {{customers}} at {{station}}"
            )
            return phrase.format(customers=as_words(first_label), station=as_words(second_label))
        phrase = _PHRASES_OF_VALUES.get(value_kind, f"{as_words(value_kind)} of {{}}")
        return phrase.format(as_words(label_text)).removesuffix(" of ").strip()

    def value_with_amount(self, name: str, amount: str) -> str:
        """Return a phrase for a value with its amount, such as ``time of gold 3 s``."""
        value_kind, _, label_end = name.partition("[")
        if self._is_quantile_clause(name):
            return (
                f"{self._quantile_clause(value_kind, label_end.removesuffix(']'))} within {amount}"
            )
        return f"{self.value(name)} {amount}"

    def value_clause(self, name: str, amount: str) -> str:
        """Return a clause for a value with its amount, such as ``the time of gold is 3 s``."""
        if self._is_quantile_clause(name):
            return self.value_with_amount(name, amount)
        noun = self.value(name)
        verb = "are" if is_plural(noun.partition(" ")[0]) else "is"
        return f"the {noun} {verb} {self.rate_with_noun(name, amount)}"

    def rate_with_noun(self, name: str, amount: str) -> str:
        """Return the amount of a value; a throughput that has no meaning counts completions.

        >>> Words().rate_with_noun("throughput", "8 /s"), Words().rate_with_noun("time", "8 s")
        ('8 completions a second', '8 s')
        """
        number_text, _, span = amount.rpartition(" ")
        if name != "throughput" or name in self.meanings or span not in TIME_SPANS:
            return amount
        return f"{number_text} completion{'' if number_text == '1' else 's'} {TIME_SPANS[span]}"

    def _is_quantile_clause(self, name: str) -> bool:
        """Return whether the clause for a value is the share of what ends within it, such as 95 %
        of jobs.
        """
        return name.partition("[")[0].endswith("_quantile") and name not in self.meanings

    def _quantile_clause(self, value_kind: str, label: str) -> str:
        """Return a clause for a quantile of a duration as a share, such as ``95 % of jobs are
        answered``.
        """
        class_label, _, fraction = label.rpartition(",")
        stated_phrase = self.meanings.get(f"{value_kind}[{class_label}]", "")
        default_phrase = _ENDING_PHRASES.get(value_kind, "") if class_label else ""
        if ending_phrase := stated_phrase or default_phrase.format(as_words(class_label)):
            return f"{100 * float(fraction):g} % of {ending_phrase}"
        if class_label or value_kind == "response_time_quantile":
            customers = "customers" if self.member == "processor" else self.members
            ending_phrase = f"{as_words(class_label) or customers} are answered"
        else:
            ending_phrase = "runs end" if self.member == "processor" else f"{self.members} end"
        return f"{100 * float(fraction):g} % of {ending_phrase}"

    def component_phrase(self, label: str, useful: Sequence[str] = ()) -> str:
        """Return a phrase for a component of the account of time, such as ``waiting for the lock
        "table"``; `useful` are the components of useful work, if known.

        >>> Words().component_phrase("busy"), Words().component_phrase("busy", ["compute"])
        ('useful work', 'other work')
        """
        if label == "busy" and useful and label not in useful:
            return "other work"
        wait_kind, colon, name = label.partition(":")
        phrase = _PHRASES_OF_WAITS.get(as_words(wait_kind)) if colon else None
        if phrase is not None:
            # A buffer's conditions are its places and its items.
            return phrase.format(as_words(re.sub(r"^([^.]*)\.(places|items)$", r"\2 in \1", name)))
        return _PHRASES_OF_COMPONENTS.get(label, as_words(label))

    def formula(self, formula_text: str) -> str:
        """Return a phrase for a value or a formula of values and quantities.

        >>> Words().formula("utilization[db]"), Words().formula("2 * stations.app.servers + time")
        ('utilization of db', '2 times app servers plus time')
        """
        return (
            self.value(formula_text)
            if re.fullmatch(ONE_VALUE, formula_text)
            else self.condition(formula_text)
        )

    def condition(self, condition_text: str) -> str:
        """Return a condition on answers as a clause."""
        clauses = [
            self._comparison_clause(clause.strip())
            for clause in re.split(r"(?<!\s)\s++and\s+", condition_text.strip())
        ]
        return " and ".join(clauses)

    def limit(self, comparison_text: str) -> str:
        """Return the limit that a comparison sets to one value, in the unit in which it is written;
        empty for other comparisons.

        >>> Words().limit("time[jobs] <= 300 ms"), Words().limit("efficiency >= 0.8")
        ('300 ms', '80 %')
        >>> Words().limit("throughput >= 5 /s"), Words().limit("time <= 2 * own.time")
        ('5 completions a second', '')
        """
        comparison = _COMPARISON.fullmatch(comparison_text)
        if comparison is None:
            return ""
        name, _, number_text, unit_text = comparison.groups()
        if name.partition("[")[0] in SHARES and not unit_text:
            number_text, unit_text = f"{100 * float(number_text):g}", "%"
        return self.rate_with_noun(name, " ".join(filter(None, (number_text, unit_text))))

    def limited_value(self, comparison_text: str) -> str:
        """Return the heading of a value that a comparison limits, with its limit in brackets; of
        other comparisons the clause.

        >>> Words().limited_value("response_time_quantile[requests,0.99] <= 300 ms")
        '99 % of requests are answered within (at most 300 ms)'
        """
        comparison = _COMPARISON.fullmatch(comparison_text)
        if comparison is None:
            return self.condition(comparison_text)
        name, relation, _, _ = comparison.groups()
        limit = f"{_RELATION_PHRASES[relation]} {self.limit(comparison_text)}".removeprefix("is ")
        clause = self.value_with_amount(name, "") if self._is_quantile_clause(name) else ""
        return f"{clause.strip() or self.value(name)} ({limit})"

    def _comparison_clause(self, comparison_text: str) -> str:
        """Return one comparison of a condition as a clause."""
        # A single comparison with a number can be written with its unit or in percent; longer
        # conditions are replaced term by term.
        if comparison := _COMPARISON.fullmatch(comparison_text):
            name, relation, _, _ = comparison.groups()
            amount = self.limit(comparison_text)
            if self._is_quantile_clause(name) and relation.startswith("<"):
                return self.value_with_amount(name, amount)
            return f"{self.value(name)} {_RELATION_PHRASES[relation]} {amount}"
        clause = _TERM.sub(self._words_of_term, comparison_text)
        for relation in ("<=", ">=", "<", ">"):
            clause = clause.replace(f" {relation} ", f" {_RELATION_PHRASES[relation]} ")
        return clause

    def _words_of_term(self, term_match: re.Match[str]) -> str:
        """Return the phrase for one term of a condition: a value, a quantity or an operator."""
        # A path of two keys looks like a value of a case.
        if term_match["case"] in _FIRST_KEYS:
            return self.quantity(term_match[0])
        if term_match["case"] == "own":
            return f"the {self.value(term_match['of'])} {self.as_given}"
        if term_match["case"] == "base_there":
            return f"that of {self.case('base')}"
        if term_match["case"]:
            return f"that of {self.case_as_given(term_match['case'])}"
        if term_match["path"]:
            return self.quantity(term_match["path"])
        if term_match["operator"]:
            # An operator may stand between its operands without blanks.
            word = _OPERATOR_WORDS[term_match["operator"]]
            is_close = term_match.string[term_match.end()] != " "
            return f" {word} " if is_close else word
        return self.value(term_match["value"]) if not _is_unit(term_match) else term_match["value"]


_ASKING_VERB = r"(?:is|are|was|were|does|do|did|can|could|will|would|should|has|have|may|might)\b"
WHICH_OF_TWO = (
    rf"{_ASKING_VERB}.* or (?!more|less|fewer)(?:.*[^,?]\b)?(?:most|best|least|first"
    r"|(?:fast|short|cheap)est|(?:more|better|less|(?:fast|short|cheap)er)(?=[?,]))\b"
)
"""The words of a title that asks which of two is better, such as "Does A or B help most"."""

_YES_OR_NO = late_pattern(rf"(?!{WHICH_OF_TWO}){_ASKING_VERB}", re.IGNORECASE)
_OPPOSITE = late_pattern(
    r"\b(?:not|never|no|without|more|less|fewer|longer|slower|later|exceeds?|above|over|worse|fails?"
    r"|faster|better|shorter|higher|lower|larger|smaller|helps?|pays?|worth|than|lets?"
    r"|miss(?:es)?|loses?|too|prolongs?|saturate[sd]?)\b|n't\b",
    re.IGNORECASE,
)


def asks_yes_or_no(title: str) -> bool:
    """Return whether a title asks yes or no.

    >>> (
    ...     asks_yes_or_no("Is a pool of 8 enough?"),
    ...     asks_yes_or_no("How many?"),
    ...     asks_yes_or_no("Island"),
    ... )
    (True, False, False)
    >>> [
    ...     asks_yes_or_no(title)
    ...     for title in (
    ...         "Is it done in 2 s or less?",
    ...         "Do 8 or 9 threads take less than 2 s?",
    ...         "Is A or B faster?",
    ...         "Do two processors or a newer network shorten a step most?",
    ...     )
    ... ]
    [True, True, False, False]
    """
    return bool(_YES_OR_NO.match(title)) and title.rstrip().endswith("?")


_LIMITS_IN_TITLE = {
    "<": late_pattern(
        r"\b(?:(?:less|fewer|shorter|faster|lower) than|(?:not?|never) (?:more|longer|later|slower)"
        r" than|(?:in )?under|below|within)(?=\s+(\d[\d.]*\s*[A-Za-z%/]*))",
        re.IGNORECASE,
    ),
    ">": late_pattern(
        r"\b(?:(?:more|longer|slower|higher|greater) than|(?:not?|never) (?:less|fewer|lower) than"
        r"|over|above)(?=\s+(\d[\d.]*\s*[A-Za-z%/]*))",
        re.IGNORECASE,
    ),
}
"""Words of a title that set a limit, by the relation of a condition that sets it as well."""


def may_ask_for_opposite(title: str, condition: str = "") -> bool:
    """Return whether a title has a word, such as "longer" or "helps", with which it may ask whether
    a condition fails, or compare cases. A limit that the condition states as well is no such word.

    >>> may_ask_for_opposite("Does it take longer than 2 s?"), may_ask_for_opposite("Does it last?")
    (True, False)
    >>> title = "Will it take less than 1 ms?"
    >>> [may_ask_for_opposite(title, text) for text in ("time <= 1 ms", "time >= 1 ms", "")]
    [False, True, True]
    >>> may_ask_for_opposite("Does it serve more than 5 /s?", "throughput >= 5 /s")
    False
    """
    # Only the same amount shows that the title and the condition mean the same limit.
    comparison = _COMPARISON.fullmatch(condition.strip())
    limit = comparison and _LIMITS_IN_TITLE[comparison[2][0]].search(title)
    if limit and comparison:
        amount_in_condition = f"{comparison[3]}{comparison[4] or ''}"
        if limit[1].replace(" ", "") == amount_in_condition:
            title = f"{title[: limit.start()]}{title[limit.end() :]}"
    return bool(_OPPOSITE.search(title))


NO_WORDS = Words()
"""The words of a study that has no titles and meanings of its own: names are written as words."""


def _is_unit(term_match: re.Match[str]) -> bool:
    """Return whether a matched word is a unit, because it follows a number."""
    return bool(re.search(r"\d\s*$", term_match.string[: term_match.start()]))
