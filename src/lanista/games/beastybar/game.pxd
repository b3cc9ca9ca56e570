from lanista.games.beastybar.rules cimport Rules
from lanista.games.compiled cimport CompiledGame

cdef Rules rules_of(settings) except *

cdef class BeastyBar(CompiledGame):
    cdef Rules rules
