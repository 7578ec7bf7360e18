// A property of an object as a file: a string and a newline, the raw bytes of binary data, or JSON and a newline for
// all other types. Saving the file sets only that property. The final newline of a string file is not part of the
// string: 'echo Bob >name' sets Bob, and text read from the file can be written back unchanged.

import RealmJSON
import RealmNames
import RealmPages

/// The file of a property.
struct FieldNode: FileNode {
  let inode: InodeNumber
  let place: FieldPlace
  let form: TextForm

  private func size(_ view: VersionView) throws(FileTreeError) -> Int {
    let rawSize: Int? = try place.read(view) { directory, cursor, _ throws(FileTreeError) in
      switch try place.value(directory, cursor).1 {
      case .string(let bytes) where form == .string: bytes.count + 1
      case .data(let bytes) where form == .data: bytes.count
      default: nil
      }
    }
    if let rawSize { return rawSize }
    return try place.text(form, view).count
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      let directory = try view.existing(place.ordinal)
      let time = view.modified(tree.views.number(directory, place.key), in: directory)
      return view.rules.file(inode, size: try size(view), time).uncached
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    FieldTarget(place: place, form: form).shownPlace(tree)?.path
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    try openComputed(access, by: caller, tree) { view throws(FileTreeError) in try place.text(form, view) }
  }

  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget {
    try tree.read { view throws(FileTreeError) in try view.existing(place.ordinal).checkIsWritable() }
    return FieldTarget(place: place, form: form)
  }
}
