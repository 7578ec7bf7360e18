// Draws a schema: a box for each class with its properties, and an arrow for each link property. The output is for
// Graphviz (dot), for documents with Mermaid, or an SVG that requires no other program.
import RealmJSON
import RealmPages

/// Draws classes and links.
struct SchemaDrawing {
  private let classes: [ClassDescription]

  /// An arrow from a property of a class to a class of the drawing.
  private struct Link {
    let from: Int
    let row: Int
    let to: Int
    let property: PropertyDescription
    /// True if the target is embedded in the object.
    let isEmbedded: Bool

    /// True if the property holds any number of links.
    var isMany: Bool { property.collection != nil }
  }
  private let links: [Link]

  private init(_ classes: [ClassDescription]) {
    self.classes = classes
    var links: [Link] = []
    for (from, description) in classes.enumerated() {
      for (row, property) in description.properties.enumerated() where property.type == .link {
        guard let to = classes.firstIndex(where: { $0.name.isExactly(property.target) }) else { continue }
        let isEmbedded = classes[to].kind == .embedded
        links.append(Link(from: from, row: row, to: to, property: property, isEmbedded: isEmbedded))
      }
    }
    self.links = links
  }

  /// Returns the drawing in `form`, which must be one of the drawing formats.
  static func text(_ classes: [ClassDescription], _ form: SchemaForm) -> String {
    let drawing = SchemaDrawing(classes)
    return switch form {
    case .dot: drawing.dot()
    case .mermaid: drawing.mermaid()
    default: drawing.svg()
    }
  }

  /// Returns `name: type`, marked if the property is a key or indexed.
  private func words(_ property: PropertyDescription, of description: ClassDescription) -> String {
    let isKey = property.name.isExactly(description.primaryKey)
    let mark = isKey ? " (key)" : property.index.map { $0 == .fullText ? " (full-text)" : " (indexed)" } ?? ""
    return "\(property.name): \(property.typeText)\(mark)"
  }

  private func title(_ description: ClassDescription) -> String {
    description.name + (description.kind == .topLevel ? "" : " (\(description.kind.name))")
  }

  /// Escapes text for XML, also within labels of dot. Control characters are escaped visibly.
  private func escaped(_ text: String) -> String {
    text.printable.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }

  // MARK: dot

  private func dot() -> String {
    var text = "digraph schema {\n  rankdir=LR;\n  node [shape=plain, fontname=\"sans-serif\"];\n"
    for (index, description) in classes.enumerated() {
      text += "  c\(index) [label=<<table border=\"0\" cellborder=\"1\" cellspacing=\"0\" cellpadding=\"4\">"
      text += "<tr><td port=\"t\" bgcolor=\"#dddddd\"><b>\(escaped(title(description)))</b></td></tr>"
      for (row, property) in description.properties.enumerated() {
        text += "<tr><td port=\"p\(row)\" align=\"left\">\(escaped(words(property, of: description)))</td></tr>"
      }
      text += "</table>>];\n"
    }
    for link in links {
      let style =
        (link.isEmbedded ? "dir=both, arrowtail=diamond, " : "") + (link.isMany ? "style=bold" : "style=solid")
      text += "  c\(link.from):p\(link.row):e -> c\(link.to):t:w [\(style)];\n"
    }
    return text + "}\n"
  }

  // MARK: Mermaid

  private func mermaid() -> String {
    // Identifiers of Mermaid are restricted, so the label contains the real name of a class.
    var text = "classDiagram\n  direction LR\n"
    for (index, description) in classes.enumerated() {
      text += "  class c\(index)[\"\(label(title(description)))\"] {\n"
      for property in description.properties { text += "    \(label(words(property, of: description)))\n" }
      text += "  }\n"
    }
    for link in links {
      let arrow = link.isEmbedded ? "*--" : "-->"
      text += "  c\(link.from) \(arrow)\(link.isMany ? " \"*\"" : "") c\(link.to) : \(label(link.property.name))\n"
    }
    return text
  }

  /// Escapes the characters that have a special meaning in Mermaid.
  private func label(_ text: String) -> String {
    var result = ""
    for character in text.printable {
      switch character {
      case "{": result += "#123;"
      case "}": result += "#125;"
      case "\"": result += "#quot;"
      case "<": result += "#lt;"
      case ">": result += "#gt;"
      case "#": result += "#35;"
      case ";": result += "#59;"
      default: result.append(character)
      }
    }
    return result
  }

  // MARK: SVG

  private enum Size {
    static let row = 20, header = 26, letter = 8, margin = 24, gap = 80, least = 120
  }

  private struct Box {
    var x = 0
    var y = 0
    var width = 0
    var height = 0
  }

  /// Arranges the classes in columns: classes without incoming links first, then those they link to, and so on.
  private func boxes() -> [Box] {
    var level = [Int](repeating: -1, count: classes.count)
    let isLinkedTo = Set(links.filter { $0.from != $0.to }.map(\.to))
    var pending = classes.indices.filter { !isLinkedTo.contains($0) }
    for index in pending { level[index] = 0 }
    // A cycle has no first class, so the first one in the list is used.
    for start in [-1] + Array(classes.indices) {
      if start >= 0, level[start] < 0 {
        level[start] = 0
        pending = [start]
      }
      while !pending.isEmpty {
        let from = pending.removeFirst()
        for link in links where link.from == from && level[link.to] < 0 {
          level[link.to] = level[from] + 1
          pending.append(link.to)
        }
      }
    }
    var boxes = classes.map { description in
      let lines = [title(description)] + description.properties.map { words($0, of: description) }
      let width = (lines.map { $0.printable.displayWidth }.max() ?? 0) * Size.letter + 16
      let height = Size.header + Size.row * description.properties.count + 6
      return Box(width: max(Size.least, width), height: height)
    }
    var x = Size.margin
    for column in 0...max(0, level.max() ?? 0) {
      var y = Size.margin, width = 0
      for index in classes.indices where level[index] == column {
        (boxes[index].x, boxes[index].y) = (x, y)
        y += boxes[index].height + Size.margin
        width = max(width, boxes[index].width)
      }
      x += width + Size.gap
    }
    return boxes
  }

  private func svg() -> String {
    let boxes = boxes()
    let width = (boxes.map { $0.x + $0.width }.max() ?? 0) + Size.gap
    let height = (boxes.map { $0.y + $0.height }.max() ?? 0) + Size.margin
    var text = """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" viewBox="0 0 \(width) \(height)" \
      font-family="monospace" font-size="13">
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">\
      <path d="M0 0L8 4L0 8z" fill="#446"/></marker></defs>
      <rect width="100%" height="100%" fill="white"/>

      """
    for (box, description) in zip(boxes, classes) {
      let frame = "x=\"\(box.x)\" y=\"\(box.y)\" width=\"\(box.width)\""
      text += "<rect \(frame) height=\"\(box.height)\" fill=\"#f8f8ff\" stroke=\"#446\"/>\n"
      text += "<rect \(frame) height=\"\(Size.header)\" fill=\"#dde\" stroke=\"#446\"/>\n"
      text +=
        "<text x=\"\(box.x + 8)\" y=\"\(box.y + 18)\" font-weight=\"bold\">\(escaped(title(description)))</text>\n"
      for (row, property) in description.properties.enumerated() {
        let y = box.y + Size.header + Size.row * row + 16
        text += "<text x=\"\(box.x + 8)\" y=\"\(y)\">\(escaped(words(property, of: description)))</text>\n"
      }
    }
    for link in links {
      let from = boxes[link.from], to = boxes[link.to]
      let (x1, y1) = (from.x + from.width, from.y + Size.header + Size.row * link.row + Size.row / 2)
      let isBack = to.x <= from.x
      // An arrow that points back, or to the class itself, ends at the right side of the box.
      let (x2, y2) = (isBack ? to.x + to.width : to.x, to.y + Size.header / 2)
      let bend = x2 + (isBack ? Size.gap / 2 : -Size.gap / 2)
      text +=
        "<path d=\"M\(x1) \(y1)C\(x1 + Size.gap / 2) \(y1) \(bend) \(y2) \(x2) \(y2)\" fill=\"none\" stroke=\"#446\""
      text += " stroke-width=\"\(link.isMany ? 2 : 1)\"\(link.isEmbedded ? " stroke-dasharray=\"4\"" : "")"
      text += " marker-end=\"url(#arrow)\"/>\n"
    }
    return text + "</svg>\n"
  }
}
