// expect: raised SyntaxError
export const proofmarkInside = () => 'forged'
export const f = () => 'own'
