// Writes damaged copies of a file, for Tests/e2e/mutants.py, which runs commands on them.
//
//     MutantFiles FILE SEED COUNT DIRECTORY      DIRECTORY/SEED.realm and so on

import Foundation
import TestSupport

let words = CommandLine.arguments
guard words.count == 5, let seed = UInt64(words[2]), let count = UInt64(words[3]) else {
  print("usage: MutantFiles FILE SEED COUNT DIRECTORY")
  exit(2)
}
let mutator = Mutator([UInt8](try Data(contentsOf: URL(fileURLWithPath: words[1]))))
for seed in seed..<seed + count {
  try Data(mutator.mutant(seed: seed)).write(to: URL(fileURLWithPath: "\(words[4])/\(seed).realm"))
}
