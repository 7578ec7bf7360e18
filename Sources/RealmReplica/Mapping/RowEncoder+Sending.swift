// Produces output from an encoded row: COPY rows, statement parameters, and hashes to compare with the server's.

import RealmPages
import RealmTransfer

extension RowEncoder {
  /// Appends the row in COPY format.
  func appendCopyRow(to out: FieldBuffer, realm: [UInt8]?) {
    out.append(Int16(truncatingIfNeeded: table.columns.count + (realm == nil ? 0 : 1)))
    if let realm { out.append(field: realm) }
    unsafe out.append(row.bytes)
  }

  /// Appends the rows of a links table in COPY format.
  func appendCopyRows(ofLinks position: Int, to out: FieldBuffer, realm: [UInt8]?) {
    unsafe forEachLink(position) { index, target in
      out.append(Int16(realm == nil ? 3 : 4))
      if let realm { out.append(field: realm) }
      out.append(field: keyParameter.bytes ?? [])
      out.append(Int32(8))
      out.append(Int64(index))
      out.append(Int32(truncatingIfNeeded: target.count))
      unsafe out.append(target)
    }
  }

  private func forEachLink(_ position: Int, _ body: (Int, UnsafeRawBufferPointer) -> Void) {
    let (fields, count) = targets[position]
    var offset = 0
    for index in 0..<count {
      guard let field = unsafe fields.field(at: offset) else { return }
      unsafe body(index, field)
      offset += 4 + field.count
    }
  }

  /// The parameters of `ReplicaTable.upsert`.
  var parameters: [PostgresParameter] {
    zip(table.columns, offsets).map { column, offset in
      unsafe PostgresParameter(type: column.oid, row.field(at: offset).map { unsafe [UInt8]($0) })
    }
  }

  var keyParameter: PostgresParameter {
    unsafe PostgresParameter(type: table.keyColumn.oid, keyField.map { unsafe [UInt8]($0) })
  }

  /// Returns the array of targets for a links table, and their number.
  func targetArray(_ position: Int) -> (PostgresParameter, count: Int) {
    let (fields, count) = targets[position], form = table.links[position].target.scalar
    let out = FieldBuffer()
    arrayHeader(count, hasNull: false, form.postgres.oid, out)
    unsafe out.append(fields.bytes)
    return unsafe (PostgresParameter(type: form.postgres.arrayOID, out.copy(0..<out.count)), count)
  }

  // MARK: hashes

  /// The hash of the key.
  var keyHash: UInt64 { unsafe Self.hash(ofKey: keyField, table.keyColumn.oid, image) }

  private static func hash(ofKey field: UnsafeRawBufferPointer?, _ oid: UInt32, _ image: FieldBuffer) -> UInt64 {
    image.reset()
    image.append(Int32(1))
    unsafe append(field, oid, image)
    return unsafe SHA256Digest.word(of: image.bytes)
  }

  private static func append(_ field: UnsafeRawBufferPointer?, _ oid: UInt32, _ image: FieldBuffer) {
    image.append(oid)
    guard let field = unsafe field else { return image.appendNull() }
    image.append(Int32(truncatingIfNeeded: field.count))
    unsafe image.append(field)
  }

  /// The hash of the row, computed over the output of `record_send`.
  var rowHash: UInt64 {
    image.reset()
    image.append(Int32(truncatingIfNeeded: table.columns.count))
    for (column, offset) in zip(table.columns, offsets) { unsafe Self.append(row.field(at: offset), column.oid, image) }
    return unsafe SHA256Digest.word(of: image.bytes)
  }

  /// The sum of the hashes of the links.
  func linksHash(_ position: Int) -> UInt64 {
    var sum: UInt64 = 0
    let key = keyParameter.bytes ?? [], oid = table.links[position].target.scalar.postgres.oid
    unsafe forEachLink(position) { index, target in
      image.reset()
      image.append(Int32(3))
      unsafe key.withUnsafeBytes { unsafe Self.append($0, table.keyColumn.oid, image) }
      image.append(UInt32(20))
      image.append(Int32(8))
      image.append(Int64(index))
      unsafe Self.append(target, oid, image)
      unsafe sum &+= SHA256Digest.word(of: image.bytes)
    }
    return sum
  }
}
