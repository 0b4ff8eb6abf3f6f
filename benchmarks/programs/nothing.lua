-- Hooks nothing, and hears only that the program begins.
function gitsProgramStart() end
