% Problem  : syj212_02
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( ((~~a1 <=> a2) <=> (a2 <=> a1)) )).
