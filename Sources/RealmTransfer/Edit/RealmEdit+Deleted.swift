// Creates deleted objects again, with the values and links that they had.

import RealmJSON
import RealmNames
import RealmPages

extension RealmEdit {
  /// The result of `restore`.
  public struct Restored: Sendable {
    /// The number of created objects.
    public let objects: Int
    /// The number of links that were left out, because their targets do not exist.
    public let missingLinks: Int
    /// The objects whose later states may have been overwritten: it is unknown which commit deleted them.
    public let perhapsOlder: [ObjectName]
  }

  /// Creates deleted objects again in one transaction, each with the newest state that remains. Only states that are
  /// certain are used. Links to objects that do not exist are left out; links between the restored objects are kept. An
  /// object of a class without a primary key gets its object key again.
  ///
  /// Cost: that of `DeletedObjects.forEach`.
  ///
  /// - Throws: `missingObject` if one of them is not a deleted object whose state is certain; nothing is created then.
  public func restore(deleted names: [ObjectName]) throws -> Restored {
    let transaction = try begin()
    var texts: [(name: ObjectName, object: ObjectReference, hasKey: Bool, text: JSONText)] = [], missing = names
    var failure: TransferError?, perhapsOlder: [ObjectName] = []
    // No other program can commit during the transaction, so nothing is overwritten until the commit.
    try DeletedObjects(in: transaction.former).forEach { object in
      guard object.confidence == .certain, let file = object.fileName,
        let index = missing.firstIndex(where: { $0.matches(object.table, file) }),
        let text = DeletedObjectText(object)
      else { return false }
      do throws(InputError) {
        let reference = ObjectReference(table: object.table.key, key: object.key)
        texts.append((missing[index], reference, object.table.primaryKeyIndex != nil, try JSONText(text.value)))
        if object.freed == nil { perhapsOlder.append(missing[index]) }
        missing.remove(at: index)
        return true
      } catch {
        failure = failure ?? .unsuitable(error.problem)
        return false
      }
    }
    if let failure { throw failure }
    if let first = missing.first {
      throw TransferError.missingObject(
        "no deleted object \(first) is known for certain; 'realmfs deleted' lists those that are"
      )
    }
    let applier = RecordApplier<JSONText>(remaining: .leaveOut)
    var lost = 0, made: [ObjectReference] = []
    for (name, object, hasKey, text) in texts {
      do {
        let target: PatchTarget = hasKey ? .new() : .keyed(object.key)
        let outcome = try applier.apply(text, at: text, to: target, of: object.table, in: transaction)
        made.append(ObjectReference(table: object.table, key: outcome.object))
      } catch { throw Self.refusal(error, of: "\(name)") }
    }
    for record in applier.waiting {
      do {
        lost += try applier.finish(record, record.place, in: transaction).missingLinks
      } catch { throw Self.refusal(error, of: "a restored object") }
    }
    try transaction.end(preview, made)
    return Restored(objects: made.count, missingLinks: lost, perhapsOlder: perhapsOlder)
  }
}

extension ObjectName {
  /// True if this is the name of the file `file` of a class.
  fileprivate func matches(_ table: Table, _ file: [UInt8]) -> Bool {
    guard let className = table.className else { return false }
    let decoded = NameEscaping.className(ofDirectory: Array(directory.utf8))
    guard className.isExactly(directory) || decoded.map({ className.isExactly($0) }) ?? false else { return false }
    return Array(self.file.utf8) == file || Array((self.file + NameEscaping.suffix).utf8) == file
  }
}
