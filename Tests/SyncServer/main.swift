// The sync server of the tests as a program, for tests of the command line: Tests/e2e/sync_lib.sh runs it. It prints
// its port, then reads commands, one per line, and answers each with `ok` or the result. It ends with its input.
//
//     SyncServer OBJECTS      a realm with a class P and so many objects
//
//     add N...                another client makes the objects N
//     message BYTES           DOWNLOADs are so large, or one changeset
//     cut BYTES | silence | drop | refuse | error CODE       what goes wrong next; FakeServer.Fault has the meaning
//     habit NAME              what goes wrong each time; FakeServer.Habit has the meaning
//     end                     all connections end
//     wipe OBJECTS            the server forgets everything, and has a new realm
//     intrude MIRROR          a program that does not know of mirrors writes one
//     uploads | request       how many changes came; the first line of the last request

import Glibc
import RealmPages
import SyncSupport

guard CommandLine.arguments.count == 2, let count = Int(CommandLine.arguments[1]) else {
  print("usage: SyncServer OBJECTS")
  exit(2)
}
/// Prints a line without buffering.
func say(_ line: String) {
  print(line)
  fflush(nil)
}

let server = try FakeServer()
server.add(SyncSamples.changesets(count))
say("\(server.port)")

while let line = readLine() {
  let words = line.split(separator: " ").map(String.init), number = words.dropFirst().first.flatMap { Int($0) } ?? 0
  var answer = "ok"
  switch words.first {
  case "add": server.add(words.dropFirst().map { SyncSamples.object(Int($0) ?? 0) })
  case "message": server.set(messageSize: number)
  case "cut": server.inject(.cut(afterBytes: number))
  case "silence": server.inject(.silence)
  case "drop": server.inject(.dropUpload(isTaken: true))
  case "refuse": server.inject(.refuseUpload(code: 212))
  case "error": server.inject(.error(code: number, session: true))
  case "habit": server.set(habit: FakeServer.Habit(rawValue: words.last ?? "") ?? .none)
  case "end": server.dropAll()
  case "wipe":
    server.wipe()
    server.add(SyncSamples.changesets(number))
  case "intrude":
    let transaction = try RealmWriter(mirror: Configuration(path: words[1])).begin()
    _ = try transaction.addTable("class_Intruder")
    _ = try transaction.commit()
  case "uploads": answer = "\(server.uploads)"
  case "request": answer = server.request
  default: answer = "unknown"
  }
  say(answer)
}
