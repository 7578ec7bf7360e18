// Index paths of sections and items. Foundation defines these members only on other platforms.

public import Foundation

extension IndexPath {
  /// Creates the index path of an element in a section.
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }

  /// The index of the element in its section.
  public var item: Int { self[1] }

  /// The index of the section.
  public var section: Int { self[0] }
}
