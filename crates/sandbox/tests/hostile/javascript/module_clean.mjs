// expect: value "clean"
import { basename } from 'node:path'
export const f = () => basename('/x/clean')
