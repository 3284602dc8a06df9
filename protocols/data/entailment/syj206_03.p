% Problem  : syj206_03
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( (((a1 <=> a2) <=> a3) <=> (a3 <=> (a2 <=> a1))) )).
