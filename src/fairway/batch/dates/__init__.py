"""When waiting jobs will start: a forecast of its own beside the passes, what each job was told, and how that held."""

from fairway.batch.dates.date_book import DateBook
from fairway.batch.dates.forecasts import Forecasts

__all__ = ["DateBook", "Forecasts"]
