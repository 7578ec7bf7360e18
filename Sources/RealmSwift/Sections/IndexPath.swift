// Positions in sections, which Foundation has with these names on other systems only.

public import Foundation

extension IndexPath {
  /// The position of an element in a section.
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }

  /// The position in the section.
  public var item: Int { self[1] }

  /// The position of the section.
  public var section: Int { self[0] }
}
