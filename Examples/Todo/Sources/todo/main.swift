// A to-do list on the command line. The realm is todo.realm in the working directory, or $TODO_REALM.

import Foundation
import RealmSwift

let usage = """
  usage: todo add TEXT [--high] [--tag TAG]... [--step TEXT]...
         todo list [TAG]
         todo done TEXT
         todo clear

  """

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data(message.utf8))
  exit(2)
}

func add(_ arguments: ArraySlice<String>, to realm: Realm) throws {
  let todo = Todo()
  var rest = arguments.makeIterator()
  while let word = rest.next() {
    switch word {
    case "--high": todo.priority = .high
    case "--tag": todo.tags.insert(rest.next() ?? "")
    case "--step": todo.steps.append(Step(value: ["text": rest.next() ?? ""]))
    default: todo.text += todo.text.isEmpty ? word : " " + word
    }
  }
  if todo.text.isEmpty { fail(usage) }
  try realm.write { realm.add(todo) }
}

func list(_ tag: String?, in realm: Realm) {
  var todos = realm.objects(Todo.self).sorted(by: [
    SortDescriptor(keyPath: "isDone"), SortDescriptor(keyPath: "priority", ascending: false), "added",
  ])
  if let tag { todos = todos.where { $0.tags.contains(tag) } }
  for todo in todos {
    let mark = todo.isDone ? "x" : todo.priority == .high ? "!" : " "
    let tags = todo.tags.map { " #\($0)" }.joined()
    print("[\(mark)] \(todo.text)\(tags)")
    for step in todo.steps { print("    - \(step.text)") }
  }
  print("\(realm.objects(Todo.self).where { !$0.isDone }.count) to do")
}

let path = ProcessInfo.processInfo.environment["TODO_REALM"] ?? "todo.realm"
let arguments = CommandLine.arguments.dropFirst()

do {
  let realm = try Realm(fileURL: URL(fileURLWithPath: path))
  switch arguments.first {
  case "add": try add(arguments.dropFirst(), to: realm)
  case "list": list(arguments.dropFirst().first, in: realm)
  case "done":
    let text = arguments.dropFirst().joined(separator: " ")
    let found = realm.objects(Todo.self).where { $0.text == text && !$0.isDone }
    if found.isEmpty { fail("nothing to do is called \"\(text)\"\n") }
    try realm.write { for todo in found { todo.isDone = true } }
  case "clear": try realm.write { realm.delete(realm.objects(Todo.self).where { $0.isDone }) }
  default: fail(usage)
  }
} catch { fail("\(error)\n") }
