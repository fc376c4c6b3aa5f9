"""Functions applied to each element: data records, lifted by one op."""
