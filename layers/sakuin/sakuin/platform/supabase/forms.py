"""Texts of the database by their form, which the OpenAPI document names."""

from typing import Annotated

from pydantic import WithJsonSchema

Id = Annotated[str, WithJsonSchema({"type": "string", "format": "uuid"})]
Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Day = Annotated[str, WithJsonSchema({"type": "string", "format": "date"})]
