// Changesets of Realm Sync: recorded ones and random ones read and written again, damaged ones refused with their
// place. Source: docs/format/7-sync.md 7.6, 7.13.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import RealmSync

@Suite("Changesets of Realm Sync")
struct SyncChangesetTests {
  /// From docs/format/7-sync.md 7.13: every instruction, as genuine clients write it.
  static let recorded = [
    "3f0001543f01035f69640000000101013f0201450002013f03014c000302010a003f04014e3f05000004000540003f06015300060001"
      + "03003f07"
      + "0155000700010b00",
    "3f0001453f01016e3f02000600010100003f0301543f0401690603040101003f05016d0603050001003f060174060306090100033f07"
      + "01650603"
      + "07090100003f08016c0603080300013f09026c74060309090001033f0a026c6506030a090001003f0b016406030b010102033f0c"
      + "01730603"
      + "0c010003",
    "3f00015402000101020001410200003f0101533f02016b020103023f03014c02030a0123456789abcdef012345673f04015502040b01"
      + "23456789"
      + "abcdef0123456789abcdef3f05014e0205400200",
    "3f0001543f01016d04000101010001c04000040001010100020100040001010100030368c3a900040001010100040200ff0004000101"
      + "01000540"
      + "ffc9b5ee4100040001010100060000c03f00040001010100079a9999999999b9bf0004000101010008e209410100040001010100"
      + "0a012345"
      + "6789abcdef01234567000400010101000b0123456789abcdef0123456789abcdef000400010101000000",
    "3f0001543f01016904000101010001ac0201050001010100ac42",
    "3f0001543f01017404000101010009000141003f02016d040001010200090000003f03026c74080001010301000900014100",
    "3f0001543f01016c0800010101010003016100080001010101010301620104000101010101030163020900010101010001020a000101"
      + "01010002",
    "3f0001543f0101730c000101010001050c000101010001060d00010101000105",
    "3f0001543f0101643f02017804000101010140020101003f0301790400010101014003000004000101010140024300",
    "3f0001543f01016c0b0001010100013f0201730b0001010200033f0301640b000101030002",
    "3f0001543f01016504000101010041003f0201453f03016e04000101010140030101003f04026c650800010104010041000500010104"
      + "02004003"
      + "030a00010104010001080001010401004100",
    "3f0001543f01016d04000101010042003f02016b0400010101014002440008000101010240020001070008000101010240020142013f"
      + "03017a04"
      + "000101010340020140030108000400010101024002000109020b00010101024002010204000101010140024300",
    "3f0001543f01017404000101010000003f02026c740a0001010201000103000141",
    "3f0001543f01016504000101010000003f0201640700023f0301550103",
    "3f00016c3f0101503f02016108010302000100030178000801030200010103017901",
    "3f0001503f01035f63643f02016c3f03016100000001030006000203000102000303",
  ]

  @Test("a recorded changeset is encoded again byte for byte", arguments: recorded)
  func roundTrip(_ hex: String) throws {
    let bytes = try #require(Hex.bytes(hex)), instructions = try ChangesetReader.instructions(of: bytes)
    var writer = ChangesetWriter()
    for instruction in instructions { writer.append(instruction) }
    #expect(Hex.text(writer.bytes) == hex)
  }

  @Test("instructions are decoded correctly")
  func meaning() throws {
    let bytes = try #require(Hex.bytes(Self.recorded[4]))
    let instructions = try ChangesetReader.instructions(of: bytes)
    let place = Instruction.Place(table: NameIndex(0), key: .int(1), field: NameIndex(1))
    #expect(
      instructions == [
        .name(NameIndex(0), Array("T".utf8)), .name(NameIndex(1), Array("i".utf8)),
        .edit(place, .update(.scalar(.int(300)), isDefault: true)),
        .edit(place, .addInteger(-301)),
      ]
    )
    let decimal = try ChangesetReader.instructions(of: #require(Hex.bytes(Self.recorded[3])))
    let values = decimal.compactMap { instruction -> Value? in
      if case .edit(_, .update(.scalar(let value), _)) = instruction { value } else { nil }
    }
    #expect(values[0] == .int(-65))
    #expect(values[4] == .date(Timestamp(seconds: -1, nanoseconds: -500_000_000)))
    #expect(values[7] == .decimal128(Decimal128(low: 1250, high: 0xb03c_0000_0000_0000)))
    #expect(values[8] == .objectID(ObjectID(high: 0x0123_4567_89ab_cdef, low: 0x0123_4567)))
    #expect(values.last == .null)
  }

  @Test("a random changeset round-trips")
  func random() throws {
    let rounds = Int(ProcessInfo.processInfo.environment["CHANGESETS"] ?? "") ?? 10_000
    for seed in 0..<UInt64(rounds) {
      var random = RandomChangeset(seed: seed)
      let instructions = random.make()
      var writer = ChangesetWriter()
      for instruction in instructions { writer.append(instruction) }
      let read = try ChangesetReader.instructions(of: writer.bytes)
      try #require(read == instructions, "seed \(seed)")
      var again = ChangesetWriter()
      for instruction in read { again.append(instruction) }
      try #require(again.bytes == writer.bytes, "seed \(seed)")
    }
  }

  @Test("damaged bytes are refused with the offset, or decoded; they never trap")
  func damaged() throws {
    for seed in 0..<UInt64(5000) {
      var random = RandomChangeset(seed: seed), dice = SplitMix64(seed: seed)
      var writer = ChangesetWriter()
      for instruction in random.make() { writer.append(instruction) }
      var bytes = writer.bytes
      for _ in 0...dice.below(4) {
        if bytes.isEmpty { break }
        switch dice.below(3) {
        case 0: bytes[dice.below(bytes.count)] = UInt8(dice.below(256))
        case 1: bytes.removeLast(dice.below(bytes.count))
        default: bytes.insert(UInt8(dice.below(256)), at: dice.below(bytes.count))
        }
      }
      do throws(ChangesetError) { _ = try ChangesetReader.instructions(of: bytes) } catch {
        #expect(error.offset <= bytes.count && error.description.hasPrefix("changeset, byte \(error.offset)"))
      }
    }
  }

  @Test(
    "invalid changesets are refused",
    arguments: [
      ("3f0101", "name 1 where name 0 is next"), ("3f000141 3f010141", "a name that the changeset has already"),
      ("0200", "unknown name 0"), ("3f000141 1000", "unknown instruction 16"),
      ("3f000141 0200 06", "type 6 for a key"), ("3f000141 0400 00 00 00 45", "type -6 for a value"),
      ("3f000141 0400 00 00 00 40", "type -1 for a value"), ("3f00 05 41", "the changeset ends"),
      ("3f000141 08000000 00 0000", "does not end in an index"), ("3f000141 0400 00 00 00 02 02", "neither 0 nor 1"),
      ("3f000141 0200 01 8000", "too long"), ("3f000141 0200 01 ffffffffffffffffff02", "more than 64 bits"),
      ("3f000141 0400 00 00 00 05 01 40 00", "nanoseconds"),
    ]
  )
  func refused(_ hex: String, _ words: String) throws {
    let bytes = try #require(Hex.bytes(hex))
    do throws(ChangesetError) {
      _ = try ChangesetReader.instructions(of: bytes)
      Issue.record("accepted")
    } catch { #expect(error.description.contains(words), "\(error)") }
  }

  @Test(
    "reading server messages takes linear time",
    arguments: ["names", "instructions", "entries"]
  )
  func growing(shape: String) throws {
    let growth = try growth(from: 2000) { count in
      switch shape {
      case "names":
        var writer = ChangesetWriter()
        for i in 0..<count { _ = writer.name("name \(i)") }
        _ = try ChangesetReader.instructions(of: writer.bytes)
      case "instructions":
        var writer = ChangesetWriter()
        let name = writer.name("a")
        for i in 0..<count { writer.append(.eraseObject(name, .int(Int64(i)))) }
        let instructions = try ChangesetReader.instructions(of: writer.bytes)
        #expect(instructions.count == count + 1)
      default:
        let body = (1...count).map { "\($0) 0 0 1 0 0 " }.joined()
        let head = "download 1 \(count) 0 \(count) 0 0 0 0 0 \(body.utf8.count) 0\n"
        guard case .download(let download) = try ServerMessage(Array((head + body).utf8)) else { return }
        let entries = try download.entries()
        #expect(entries.count == count)
      }
    }
    #expect(growth < largestGrowth)
  }
}

/// Bytes as text.
enum Hex {
  static func bytes(_ text: String) -> [UInt8]? {
    let digits = text.filter { $0 != " " }
    return stride(from: 0, to: digits.count, by: 2).reduce(into: [UInt8]?([])) { bytes, offset in
      let start = digits.index(digits.startIndex, offsetBy: offset)
      guard let byte = UInt8(digits[start...].prefix(2), radix: 16) else { return bytes = nil }
      bytes?.append(byte)
    }
  }

  static func text(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

/// Random instructions with every field within its limits.
struct RandomChangeset {
  private var dice: SplitMix64
  private var names = 0

  init(seed: UInt64) { dice = SplitMix64(seed: seed) }

  mutating func make() -> [Instruction] {
    var all: [Instruction] = []
    for index in 0..<(1 + dice.below(5)) { all.append(.name(NameIndex(index), text() + Array("#\(index)".utf8))) }
    names = all.count
    for _ in 0..<dice.below(30) { all.append(instruction()) }
    return all
  }

  private mutating func text() -> [UInt8] { (0..<dice.below(12)).map { _ in UInt8(dice.below(256)) } }
  private mutating func name() -> NameIndex { NameIndex(dice.below(names)) }
  private mutating func number() -> Int64 { Int64(bitPattern: dice.next()) >> Int64(dice.below(64)) }
  private mutating func size() -> UInt32 { UInt32(truncatingIfNeeded: dice.next()) >> UInt32(dice.below(32)) }

  private mutating func key() -> InstructionKey {
    switch dice.below(6) {
    case 0: .null
    case 1: .int(number())
    case 2: .string(name())
    case 3: .objectID(ObjectID(high: dice.next(), low: UInt32(truncatingIfNeeded: dice.next())))
    case 4: .uuid(UniqueID(high: dice.next(), low: dice.next()))
    default: .global(high: dice.next(), low: dice.next() >> 32)
    }
  }

  private mutating func value() -> Value {
    switch dice.below(11) {
    case 0: return .null
    case 1: return .int(number())
    case 2: return .bool(dice.below(2) == 1)
    case 3: return .string(text())
    case 4: return .data(text())
    case 5:
      let seconds = number(), nanoseconds = Int32(dice.below(1_000_000_000))
      return .date(Timestamp(seconds: seconds, nanoseconds: seconds < 0 ? -nanoseconds : nanoseconds))
    case 6: return .float(Float(dice.below(1000)) / 7)
    case 7: return .double(Double(number()))
    case 8: return .decimal128(Decimal128(low: dice.next() >> UInt64(dice.below(64)), high: dice.next()))
    case 9: return .objectID(ObjectID(high: dice.next(), low: 7))
    default: return .uuid(UniqueID(high: dice.next(), low: dice.next()))
    }
  }

  private mutating func payload() -> Instruction.Payload {
    switch dice.below(9) {
    case 0: .link(name(), key())
    case 1: .object
    case 2: .list
    case 3: .dictionary
    case 4: .erased
    default: .scalar(value())
    }
  }

  private mutating func place(endsInIndex: Bool?) -> Instruction.Place {
    var place = Instruction.Place(table: name(), key: key(), field: name())
    for _ in 0..<dice.below(3) { place.path.append(dice.below(2) == 0 ? .index(size()) : .name(name())) }
    if endsInIndex == true { place.path.append(.index(size())) }
    if endsInIndex == false, place.lastIndex != nil { place.path.append(.name(name())) }
    return place
  }

  private mutating func instruction() -> Instruction {
    let types: [ValueType] = [
      .int, .bool, .string, .data, .mixed, .date, .float, .double, .decimal128, .objectID, .uuid, .link,
    ]
    switch dice.below(15) {
    case 0:
      let keys: [ValueType?] = [.int, .string, .objectID, .uuid, nil]
      let form = Instruction.PrimaryKeyForm(name: name(), type: keys[dice.below(5)], isNullable: dice.below(2) == 0)
      return .addTable(
        name(),
        dice.below(3) == 0 ? .embedded : .topLevel(primaryKey: form, isAsymmetric: dice.below(2) == 0)
      )
    case 1: return .eraseTable(name())
    case 2: return .createObject(name(), key())
    case 3: return .eraseObject(name(), key())
    case 4:
      let type = types[dice.below(types.count)], kinds: [CollectionKind?] = [nil, .list, .set, .dictionary]
      let form = Instruction.PropertyForm(
        name: name(),
        type: type,
        collection: kinds[dice.below(4)],
        isNullable: dice.below(2) == 0,
        target: type == .link ? name() : nil
      )
      return .addColumn(name(), form)
    case 5: return .eraseColumn(name(), name())
    case 6: return .edit(place(endsInIndex: true), .updateElement(payload(), prior: size()))
    case 7: return .edit(place(endsInIndex: nil), .addInteger(number()))
    case 8: return .edit(place(endsInIndex: true), .insert(payload(), prior: size()))
    case 9: return .edit(place(endsInIndex: true), .move(to: size(), prior: size()))
    case 10: return .edit(place(endsInIndex: true), .erase(prior: size()))
    case 11: return .edit(place(endsInIndex: nil), .clear([.single, .list, .dictionary, .set][dice.below(4)]))
    case 12: return .edit(place(endsInIndex: nil), .setInsert(payload()))
    case 13: return .edit(place(endsInIndex: nil), .setErase(payload()))
    default: return .edit(place(endsInIndex: false), .update(payload(), isDefault: dice.below(2) == 0))
    }
  }
}
