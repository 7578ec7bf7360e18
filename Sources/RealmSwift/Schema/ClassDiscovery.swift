// Finds all model classes of the program. The compiler lists every type in a section of the binary, and the Swift
// runtime enumerates these sections. Only non-generic classes with a superclass are considered.

import Synchronization

@_silgen_name("swift_enumerateAllMetadataSections")
private func enumerateMetadataSections(
  _ body: @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer?) -> Bool,
  _ context: UnsafeMutableRawPointer?
)

/// The model classes in the program.
enum ClassDiscovery {
  private final class Found { var classes: [ClassReference] = [] }

  private static let cache = Mutex<[ClassReference]?>(nil)

  /// The classes that derive from `Object`, `EmbeddedObject` or `AsymmetricObject`. Libraries loaded after the first
  /// access are not included.
  static var modelClasses: [ClassReference] {
    if let known = cache.withLock({ $0 }) { return known }
    let found = Found()
    unsafe enumerateMetadataSections(
      { sections, context in
        if let context = unsafe context {
          unsafe ClassDiscovery.look(sections, Unmanaged<Found>.fromOpaque(context).takeUnretainedValue())
        }
        return true
      },
      unsafe Unmanaged.passUnretained(found).toOpaque()
    )
    let classes = found.classes
    cache.withLock { $0 = classes }
    return classes
  }

  /// Reads the runtime's record of sections: a version, three pointers, then the start and length of each section; the
  /// third section lists the types. Records with a version below 1 have another layout.
  private static func look(_ sections: UnsafeRawPointer, _ found: Found) {
    let word = MemoryLayout<UInt>.size
    guard unsafe sections.load(as: UInt.self) >= 1,
      let start = unsafe UnsafeRawPointer(bitPattern: sections.load(fromByteOffset: 8 * word, as: UInt.self))
    else { return }
    let length = unsafe Int(sections.load(fromByteOffset: 9 * word, as: UInt.self))
    for offset in stride(from: 0, to: length, by: 4) {
      let record = unsafe start + offset, distance = unsafe Int(record.load(as: Int32.self))
      // The low bits are the kind of the reference: 0 is a direct reference to a type descriptor.
      guard distance & 3 == 0, let type = unsafe modelClass(describedAt: record + distance) else { continue }
      found.classes.append(ClassReference(type: type))
    }
  }

  /// Returns the class described by a context descriptor; nil if it is not a model.
  private static func modelClass(describedAt descriptor: UnsafeRawPointer) -> ObjectBase.Type? {
    let flags = unsafe descriptor.load(as: UInt32.self), classKind: UInt32 = 16, isGeneric: UInt32 = 0x80
    let hasSuperclass = unsafe descriptor.load(fromByteOffset: 20, as: Int32.self) != 0
    guard flags & 0x1F == classKind, flags & isGeneric == 0, hasSuperclass else { return nil }
    let accessor = unsafe descriptor + 12 + Int(descriptor.load(fromByteOffset: 12, as: Int32.self))
    let metadata = unsafe unsafeBitCast(accessor, to: (@convention(c) (UInt) -> UnsafeRawPointer).self)(0)
    guard let type = unsafe unsafeBitCast(metadata, to: Any.Type.self) as? ObjectBase.Type,
      type != Object.self, type != EmbeddedObject.self, type != AsymmetricObject.self,
      type is Object.Type || type is EmbeddedObject.Type || type is AsymmetricObject.Type
    else { return nil }
    return type
  }
}
