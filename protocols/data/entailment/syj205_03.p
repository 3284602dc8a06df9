% Problem  : syj205_03
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ((((a0 => f) & (((b3 => b0) => a3) & (((b0 => a1) => a0) & (((b1 => a2) => a1) & ((b2 => a3) => a2))))) => f) & ((((b2 => a3) => a2) & (((b1 => a2) => a1) & (((b0 => a1) => a0) & (((b3 => b0) => a3) & (a0 => f))))) => f)) )).
