// All model classes of the program: the compiler lists every type in a section of the binary, and the runtime library
// shows these sections. Classes are looked at that derive from another one and are not generic.

import Synchronization

@_silgen_name("swift_enumerateAllMetadataSections")
private func enumerateMetadataSections(
  _ body: @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer?) -> Bool,
  _ context: UnsafeMutableRawPointer?
)

/// The model classes that the program contains.
enum ClassDiscovery {
  private final class Found { var classes: [ClassReference] = [] }

  private static let cache = Mutex<[ClassReference]?>(nil)

  /// The classes that derive from `Object`, `EmbeddedObject` or `AsymmetricObject`. Libraries that are loaded later are
  /// not seen.
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

  /// The layout of the runtime's list of sections: a version, three pointers, then begin and length of each section;
  /// the third is that of types. Versions below 1 have another one.
  private static func look(_ sections: UnsafeRawPointer, _ found: Found) {
    let word = MemoryLayout<UInt>.size
    guard unsafe sections.load(as: UInt.self) >= 1,
      let start = unsafe UnsafeRawPointer(bitPattern: sections.load(fromByteOffset: 8 * word, as: UInt.self))
    else { return }
    let length = unsafe Int(sections.load(fromByteOffset: 9 * word, as: UInt.self))
    for offset in stride(from: 0, to: length, by: 4) {
      let record = unsafe start + offset, distance = unsafe Int(record.load(as: Int32.self))
      // The low bits say what it leads to: 0 is the description of a type.
      guard distance & 3 == 0, let type = unsafe modelClass(describedAt: record + distance) else { continue }
      found.classes.append(ClassReference(type: type))
    }
  }

  /// The class that a context descriptor describes, if it is a model.
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
