// The versions that remain in a file, whatever its header contains.

/// A version that remains in a file: its top array can be read.
public struct RemainingVersion: Sendable {
  /// The state of a version.
  public enum State: Sendable, Hashable {
    /// Every node is intact. It is the newest version and a check finds no fault; or the free lists of all later
    /// versions show that no commit overwrote a node of it, and a check finds no fault.
    case whole
    /// A check finds no fault, but the file does not show what later commits wrote: values may have been replaced by
    /// other valid ones.
    case unproven
    /// A check finds faults. The value describes the first.
    case partial(String)

    /// The name of the state, as commands print it.
    public var name: String {
      switch self {
      case .whole: "whole"
      case .unproven: "unproven"
      case .partial: "partial"
      }
    }

    /// The first fault that a check found; nil for other states.
    public var fault: String? { if case .partial(let fault) = self { fault } else { nil } }
  }

  /// The objects of a class in a version.
  public struct ClassContent: Sendable, Hashable {
    /// The name of the class.
    public let name: String
    /// The number of objects that can be read.
    public let objects: Int
    /// The number of objects according to the class; nil if unknown.
    public let claimedObjects: Int?
  }

  let root: RescuedRealm.Root
  /// The slots of the header that refer to it, the selected one first.
  public let slots: [HeaderSlot]

  /// A description of how its top array was found.
  public var origin: String { root.origin.rawValue }
  /// The version number; 1 if none is stored.
  public var version: UInt64 { root.version }
  /// The file format as which it is read.
  public var format: Int { root.format }
  /// The offset of its top array, in bytes of the decrypted file.
  public var ref: Int { root.ref }
  /// The file size that this version requires, in bytes.
  public var logicalSize: Int { root.logicalSize }
  /// True if the footer of a copy refers to it.
  public var isInFooter: Bool { root.origin == .footer }
}

/// A slot of the header.
public struct HeaderSlot: Sendable, Hashable {
  /// 0 or 1.
  public let number: Int
  /// True if the header selects the slot.
  public let isSelected: Bool
}
