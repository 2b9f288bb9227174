-- A table to follow, and what mysql.md needs of it: a view of documents, an outbox, and triggers.
CREATE DATABASE shop;
USE shop;
CREATE TABLE articles (id bigint PRIMARY KEY, title text NOT NULL, price decimal(9, 2), tags json);
INSERT INTO articles VALUES (1, 'Red "felt" hat', 19.5, '["hats", "wool"]'), (2, 'Blue scarf', 12, '["wool"]'), (3, 'Green coat', 140, NULL);
CREATE VIEW articles_for_search AS SELECT id,
  JSON_OBJECT('id', id, 'title', title, 'price', price, 'tags', JSON_EXTRACT(tags, '$')) AS document FROM articles;
CREATE TABLE search_outbox (seq bigint AUTO_INCREMENT PRIMARY KEY, id bigint NOT NULL);
CREATE TRIGGER articles_inserted AFTER INSERT ON articles FOR EACH ROW INSERT INTO search_outbox (id) VALUES (NEW.id);
CREATE TRIGGER articles_updated AFTER UPDATE ON articles FOR EACH ROW INSERT INTO search_outbox (id) VALUES (OLD.id), (NEW.id);
CREATE TRIGGER articles_deleted AFTER DELETE ON articles FOR EACH ROW INSERT INTO search_outbox (id) VALUES (OLD.id);
