"""What a file of kept values is known by: read without NumPy, as commands are."""

from lanista.files import Kind

KEPT = Kind("what `lanista exact` keeps", rb'^\{"lanista_exact": 1')
