// expect: value "clean"
interface Answer { text: string }
function f (): string { const answer: Answer = { text: 'clean' }; return answer.text }
