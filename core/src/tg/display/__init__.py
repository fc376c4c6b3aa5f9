"""Results for people: tables in terminals, short pages in notebooks, generated code with its colours."""
