% Problem  : syj205_02
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ((((a0 => f) & (((b2 => b0) => a2) & (((b0 => a1) => a0) & ((b1 => a2) => a1)))) => f) & ((((b1 => a2) => a1) & (((b0 => a1) => a0) & (((b2 => b0) => a2) & (a0 => f)))) => f)) )).
