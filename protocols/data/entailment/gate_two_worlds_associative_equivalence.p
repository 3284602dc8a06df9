% Problem  : gate_two_worlds_associative_equivalence
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( ((p<=>q)<=>r)<=>(p<=>(q<=>r)) )).
