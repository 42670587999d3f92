// expect: value 1
export function then (resolve) { for (;;) {} }
export const f = () => 1
