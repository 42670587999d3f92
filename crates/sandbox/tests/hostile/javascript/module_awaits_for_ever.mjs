// expect: no_answer
await new Promise(() => {})
export const f = () => 1
