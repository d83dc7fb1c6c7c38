"""Labelled columns as tables of other libraries, of which none is required."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from slipstick.errors import need


class Labelled:
    """What has flat columns: tables of polars, pandas, xarray, and of what reads Arrow streams, are made of them."""

    __slots__ = ()

    def to_dict(self) -> Mapping[str, Sequence[Any] | Any]:
        """Give the columns of the table, all of one length, by name."""
        raise NotImplementedError

    def to_polars(self) -> Any:
        """Give the table of `to_dict` as a polars DataFrame; MissingExtraError if polars is not installed."""
        return need("polars", "a table of polars", "frames").DataFrame(self.to_dict())

    def to_pandas(self) -> Any:
        """Give the table of `to_dict` as a pandas DataFrame; MissingExtraError if pandas is not installed."""
        return need("pandas", "a table of pandas", "").DataFrame(self.to_dict())

    def to_xarray(self) -> Any:
        """Give the table of `to_dict` as an xarray Dataset over its rows; MissingExtraError if xarray is not installed."""
        return need("xarray", "a table of xarray", "").Dataset.from_dataframe(self.to_pandas().rename_axis("row"))

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Give the table to libraries that read Arrow streams, such as ``polars.DataFrame(sweep)``, by polars or pyarrow.

        Raises
        ------
        MissingExtraError : neither is installed
        """
        with suppress(ImportError):
            return import_module("pyarrow").table(self.to_dict()).__arrow_c_stream__(requested_schema)
        return self.to_polars().__arrow_c_stream__(requested_schema)
